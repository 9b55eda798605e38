# syntax=docker/dockerfile:1
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /out/talaria ./cmd/talaria && mkdir -p /out/data

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/talaria /usr/local/bin/talaria
COPY --from=build --chown=nonroot:nonroot /out/data /data
WORKDIR /data
VOLUME /data
# A config file, if there is one, is /data/config.toml; everything can come from the environment as well.
ENV TALARIA_HTTP_LISTEN=127.0.0.1:8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s CMD ["talaria", "health"]
ENTRYPOINT ["talaria"]
CMD ["run"]
