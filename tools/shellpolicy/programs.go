package shellpolicy

import "strings"

// how says what a program does with its arguments.
type how int

const (
	inert   how = iota // nothing that matters
	reader             // reads the files that they name
	writer             // changes the files that they name
	talker             // talks to the machines or reads the files that they name
	runner             // runs code, or does what cannot be told from them
	wrapper            // runs another program that they name
	special            // has a function of its own
)

// program is what is known about a program.
type program struct {
	name  string
	how   how
	class Class  // with why: it is always asked about
	why   string // a sentence
	never bool
	bad   string // options that make it do more than it should

	flags  string // of a wrapper: options that stand alone
	values string // options that take the next argument
	skip   int    // arguments before the program's name
}

// programs are the ones that are known. Others are taken for code that cannot be looked into.
var programs = func() map[string]program {
	all := map[string]program{}
	add := func(p program, names string) {
		for n := range strings.FieldsSeq(names) {
			p.name = n
			all[n] = p
		}
	}
	add(program{how: inert}, `echo true false pwd sleep seq whoami id groups uname nproc arch tty basename dirname expr yes logname
		cal ncal uptime free which whereis tput clear factor numfmt`)
	add(program{how: inert, bad: "-s --set -f --file"}, "date")
	add(program{how: reader}, `cat head tail wc nl od xxd hexdump strings stat ls dir vdir cmp comm cut paste fold fmt column tr rev tac
		expand unexpand grep egrep fgrep jq md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum
		du df readlink realpath base64 base32 join tsort look pr ptx nm size objdump readelf lsblk lscpu pgrep pidof lsof
		zcat bzcat xzcat zstdcat dot exa eza colordiff`)
	add(program{how: reader, bad: "-o --output"}, "tree iconv")
	add(program{how: reader, bad: "-o --output --compress-program -T --temporary-directory --files0-from"}, "sort shuf")
	add(program{how: reader, bad: "--pre --hostname-bin --search-zip -z"}, "rg ag ack")
	add(program{how: reader, bad: "-x --exec -X --exec-batch"}, "fd fdfind")
	add(program{how: reader, bad: "-o --output -l"}, "diff diff3 sdiff")
	add(program{how: reader, bad: "-m --magic-file -C --compile -z"}, "file")
	add(program{how: reader, bad: "-i --in-place --inplace --from-file"}, "yq xmllint")
	add(program{how: reader, class: Unclear, why: "It opens a pager or an editor, which can run commands."}, "less more most vi vim nvim nano emacs ed ex view pico")
	add(program{how: special}, `rm rmdir unlink shred chmod chown chgrp dd kill pkill killall ln mv cp install uniq ps
		find sed awk gawk mawk nawk tar git xargs env printenv test [ hostname tee truncate command`)
	add(program{how: writer, bad: "--use-compress-program"}, "mkdir touch mkfifo mktemp split csplit gzip gunzip bzip2 bunzip2 xz unxz zstd unzip zip fallocate")
	add(program{how: writer}, "patch")
	add(program{how: wrapper, flags: "--"}, "nohup chronic busybox toybox setarch linux64")
	add(program{how: wrapper, flags: "--", values: "-n --adjustment"}, "nice")
	add(program{how: wrapper, flags: "-t --ignore --", values: "-c -n --class --classdata"}, "ionice")
	add(program{how: wrapper, flags: "--foreground --preserve-status -v --verbose --", values: "-s --signal -k --kill-after", skip: 1}, "timeout")
	add(program{how: wrapper, flags: "--", values: "-i -o -e --input --output --error"}, "stdbuf")
	add(program{how: wrapper, flags: "-c -f -w --ctty --fork --wait --"}, "setsid")
	add(program{how: wrapper, flags: "-p -v --verbose --portability --", values: "-f --format"}, "time")
	const gains = "It runs with other rights."
	add(program{
		how: wrapper, class: Privilege, why: gains, flags: "-n -E -H -S -k -i -s -b -A -P --",
		values: "-u -g -U -C -h -p -r -t --user --group",
	}, "sudo doas")
	add(program{how: runner, class: Privilege, why: gains}, `su pkexec runuser setpriv newgrp sg chroot unshare nsenter capsh setcap
		passwd chpasswd useradd userdel usermod groupadd groupdel adduser deluser visudo vipw chsh chfn gpasswd login machinectl`)
	add(program{how: runner, class: Code, why: "It runs another program in a way that is not looked into."}, `parallel watch script flock
		strace ltrace gdb perf entr expect unbuffer rlwrap tmux screen at batch systemd-run cpulimit prlimit taskset numactl firejail
		bwrap fakeroot proot faketime xvfb-run dbus-run-session start-stop-daemon run-parts runcon ld.so ld-linux-x86-64.so`)
	add(program{how: special}, "sh bash dash zsh ksh ash mksh fish csh tcsh rbash")
	add(program{how: special}, "python pypy perl ruby node nodejs deno bun php lua luajit tclsh Rscript julia osascript groovy elixir erl guile ghci irb scala swift pwsh powershell")
	const builds = "It builds or runs code, which can do anything."
	add(program{how: runner, class: Code, why: builds}, `make gmake cmake ninja meson bazel gcc g++ cc c++ clang clang++ ld as rustc javac java
		kotlinc dotnet mvn gradle ant sbt tsc tsx ts-node eslint prettier pytest tox nox ruff mypy black jest vitest rake gofmt
		m4 bc dc pre-commit`)
	add(program{how: special}, "go cargo npm pnpm yarn pip pip3 uv poetry npx pipx bunx uvx gem bundle composer conda mamba")
	const talks = "It talks to other machines."
	add(program{how: talker, class: Network, why: talks}, `curl wget aria2c axel http https xh ssh scp sftp rsync mosh nc ncat netcat telnet ftp lftp tftp
		dig nslookup host drill ping ping6 traceroute tracepath mtr whois socat nmap masscan lynx w3m links elinks gh glab hub svn hg cvs
		openssl smbclient rclone s3cmd aws gcloud gsutil az doctl heroku flyctl fly vercel netlify wrangler terraform tofu pulumi ansible
		ansible-playbook sendmail mail mailx mutt msmtp swaks tcpdump tshark ngrok cloudflared tailscale wg transmission-cli yt-dlp youtube-dl
		mysqldump pg_dump pg_restore`)
	add(program{how: special}, "sqlite3 sqlite duckdb psql mysql mariadb mongosh mongo redis-cli cqlsh clickhouse-client sqlcmd sqlplus")
	add(program{how: runner, class: Network, why: "It installs programs from the network."}, `apt apt-get aptitude dpkg yum dnf rpm apk pacman zypper
		brew snap flatpak nix nix-env nix-shell port emerge opam cabal stack cpan luarocks mix nvm rustup pyenv asdf`)
	const manages = "It changes how the machine runs."
	add(program{how: runner, class: System, why: manages}, `systemctl service rc-service initctl launchctl supervisorctl loginctl journalctl
		mount umount fusermount swapon swapoff losetup cryptsetup lvm lvremove vgremove pvremove zfs zpool btrfs mdadm fsck tune2fs
		resize2fs insmod modprobe rmmod depmod sysctl dmesg iptables ip6tables nft ufw firewall-cmd ip ifconfig route tc brctl iw nmcli
		crontab hostnamectl timedatectl localectl hwclock ntpdate update-grub grub-install efibootmgr update-rc.d chkconfig
		update-alternatives ldconfig renice chrt docker podman nerdctl ctr crictl kubectl helm minikube kind k3s lxc virsh qemu-system-x86_64
		vagrant pm2 setfacl chattr mknod quota edquota logrotate auditctl`)
	const formats = "It formats or overwrites a disk."
	add(program{how: inert, class: System, why: formats, never: true}, "mkfs mke2fs mkswap fdisk sfdisk cfdisk gdisk sgdisk parted wipefs blkdiscard hdparm badblocks nvme")
	add(program{how: inert, class: System, why: "It shuts the machine down.", never: true}, "shutdown reboot halt poweroff telinit init kexec")
	add(program{how: runner, class: Self, why: "It runs the gateway itself."}, "talaria")
	const loses = "It deletes a database."
	add(program{how: runner, class: Destructive, why: loses}, "dropdb mysqladmin")
	add(program{how: inert, class: Secrets, why: "It reads stored passwords."}, "pass gopass op bw vault secret-tool security keyctl gpg gpg2 ssh-add ssh-keygen getent age sops")
	return all
}()
