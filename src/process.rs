//! Running a child process that cannot outgrow memory, outlive its time limit
//! or hang the agent: `bash`, background commands and servers build on it.

use std::{
    convert::Infallible,
    future,
    io::{self, PipeReader, Read},
    os::{fd::OwnedFd, unix::process::ExitStatusExt},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use rustix::{
    io::Errno,
    process::{Pid, Signal, kill_process_group},
};
use tokio::{io::AsyncReadExt, net::unix::pipe::Receiver, process::Command, time};

/// More than any pipe holds (Linux lets ordinary users go up to 1 MiB).
const PIPE_SIZE: usize = 1 << 20;

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It returned this exit code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
    /// It ran into the time limit and its group was killed.
    TimedOut,
}

/// Kills a process group when it is dropped. Killing the child alone would
/// leave the programs that it started: `sh -c 'sleep 99 | cat'` is three.
///
/// This is all the cancellation there is: whoever drops the future that holds
/// the guard, ends the processes.
pub struct GroupGuard(Option<Pid>);

impl GroupGuard {
    /// Guards the group led by the child with this id. The child must have
    /// been started with `process_group(0)`.
    pub fn new(child: Option<u32>) -> Self {
        let id = child.and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(Pid::from_raw))
    }

    /// Kills the group now. One that is gone already counts as killed.
    ///
    /// # Errors
    /// When the system refuses, for instance for another user's processes.
    pub fn kill(&self) -> io::Result<()> {
        let Some(group) = self.0 else { return Ok(()) };
        match kill_process_group(group, Signal::KILL) {
            Err(Errno::SRCH) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Lets the group live on. To be called as soon as the leader has been
    /// waited for: from then on its number may belong to somebody else.
    pub fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for GroupGuard {
    fn drop(&mut self) {
        // Nobody is left who could be told about an error.
        let _ = self.kill();
    }
}

/// Runs `command` with empty standard input, in a process group of its own, so
/// that Ctrl-C at the terminal reaches only the agent. `sink` gets the output
/// as it arrives; stdout and stderr are one pipe, which keeps their order.
///
/// At `limit` the whole group is killed; so it is when the future is dropped.
/// Processes that outlive the child in the background are left alone.
///
/// # Errors
/// When the child cannot be started, watched or killed.
pub async fn run(
    command: Command,
    limit: Duration,
    mut sink: impl FnMut(&[u8]) + Send,
) -> io::Result<Exit> {
    let (mut child, mut pipe) = spawn(command)?;
    let group = GroupGuard::new(child.id());
    let reading = async {
        read_to_end(&mut pipe, &mut sink).await;
        // A child may close its output and work on.
        future::pending::<Infallible>().await
    };
    let ended = tokio::select! {
        status = child.wait() => Some(status?),
        () = time::sleep(limit) => None,
        never = reading => match never {},
    };
    if ended.is_none() {
        group.kill()?;
        child.wait().await?;
    }
    group.disarm();
    read_rest(pipe, sink)?;
    Ok(ended.map_or(Exit::TimedOut, exit))
}

/// The pipe's writing end is owned by `command`, and must be closed with it
/// here: the reader sees the end only when nobody can write any more.
fn spawn(mut command: Command) -> io::Result<(tokio::process::Child, Receiver)> {
    let (reader, writer) = io::pipe()?;
    let reader = Receiver::from_owned_fd(reader.into())?;
    command
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0);
    Ok((command.spawn()?, reader))
}

async fn read_to_end(pipe: &mut Receiver, mut sink: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 65_536];
    while let Ok(n @ 1..) = pipe.read(&mut buffer).await {
        sink(&buffer[..n]);
    }
}

/// Takes what the child left in the pipe, without waiting for its end, which a
/// server in the background may hold open for hours. The reads go to the
/// system directly: tokio would call the pipe empty until it has been told
/// otherwise, and the news of the child's end can come first.
fn read_rest(pipe: Receiver, mut sink: impl FnMut(&[u8])) -> io::Result<()> {
    let mut pipe = PipeReader::from(pipe.into_nonblocking_fd()?);
    let mut buffer = vec![0; 65_536];
    let mut taken = 0;
    while taken < PIPE_SIZE {
        match pipe.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => {
                sink(&buffer[..n]);
                taken += n;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    keep_open(pipe.into())
}

/// Reads and forgets: without a reader, the next write of a process in the
/// background would kill it, or a full pipe would stop it.
fn keep_open(pipe: OwnedFd) -> io::Result<()> {
    let mut pipe = Receiver::from_owned_fd(pipe)?;
    tokio::spawn(async move { read_to_end(&mut pipe, |_| ()).await });
    Ok(())
}

fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or_default()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::{fs, path::Path, time::Instant};

    const LONG: Duration = Duration::from_secs(120);

    /// Polls off the runtime, which must go on in the meantime. The deadline
    /// only ends a test that has failed.
    pub(crate) async fn until(what: impl Fn() -> bool + Send + 'static) {
        let wait = move || {
            let deadline = Instant::now() + LONG;
            while !what() {
                assert!(Instant::now() < deadline, "waited in vain");
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        tokio::task::spawn_blocking(wait).await.unwrap();
    }

    async fn until_exists(path: &Path) {
        let path = path.to_owned();
        until(move || path.exists()).await;
    }

    /// A zombie whose new parent does not care has ended, too.
    pub(crate) fn ended(pid: i32) -> bool {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
        let zombie = stat.is_ok_and(|stat| stat.contains(") Z "));
        zombie || absent(pid)
    }

    fn absent(pid: i32) -> bool {
        let pid = Pid::from_raw(pid).unwrap();
        rustix::process::test_kill_process(pid) == Err(Errno::SRCH)
    }

    fn shell(folder: &Path, line: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(folder);
        command
    }

    async fn output(line: &str, limit: Duration) -> (String, Exit) {
        let mut bytes = Vec::new();
        let sink = |new: &[u8]| bytes.extend_from_slice(new);
        let exit = run(shell(Path::new("/"), line), limit, sink).await;
        (String::from_utf8(bytes).unwrap(), exit.unwrap())
    }

    fn pids(folder: &Path) -> Vec<i32> {
        let text = fs::read_to_string(folder.join("pids")).unwrap();
        text.split_whitespace().map(|p| p.parse().unwrap()).collect()
    }

    /// Three processes that would run for ten minutes.
    const FAMILY: &str = "(sleep 600 & echo $!; sleep 600) | cat > pids & \
        echo before; echo $$ $! > more; \
        until [ -s pids ]; do sleep 0.01; done; \
        cat more >> pids; touch ready; sleep 600";

    #[tokio::test]
    async fn exit_codes_and_signals_are_told_apart() {
        assert_eq!(output("exit 3", LONG).await.1, Exit::Code(3));
        assert_eq!(output("kill -9 $$", LONG).await.1, Exit::Signal(9));
        assert_eq!(output("true", LONG).await.1, Exit::Code(0));
    }

    #[tokio::test]
    async fn both_streams_arrive_in_their_order() {
        let line = "for i in 1 2 3; do echo o$i; echo e$i >&2; done";
        let (text, _) = output(line, LONG).await;
        assert_eq!(text, "o1\ne1\no2\ne2\no3\ne3\n");
    }

    #[tokio::test]
    async fn standard_input_is_empty() {
        let (text, exit) = output("cat; read x || echo none", LONG).await;
        assert_eq!((text.as_str(), exit), ("none\n", Exit::Code(0)));
    }

    #[tokio::test]
    async fn closing_the_output_is_not_the_end() {
        let line = "echo a; exec >&- 2>&-; sleep 0.05; exit 4";
        let expected = ("a\n".to_string(), Exit::Code(4));
        assert_eq!(output(line, LONG).await, expected);
    }

    #[tokio::test]
    async fn nothing_of_a_large_output_is_lost() {
        let line = "yes 0123456789abcdef | head -c 3000000; echo end";
        let (text, _) = output(line, LONG).await;
        assert_eq!(text.len(), 3_000_004);
        assert!(text.ends_with("end\n"));
    }

    #[tokio::test]
    async fn many_short_commands_end() {
        for i in 0..100 {
            let (text, exit) = output(&format!("echo {i}"), LONG).await;
            assert_eq!((text, exit), (format!("{i}\n"), Exit::Code(0)));
        }
    }

    /// The clock stands still while a blocking task runs, and jumps to the
    /// limit as soon as there is nothing else to do.
    #[tokio::test(start_paused = true)]
    async fn the_time_limit_ends_the_whole_group_and_keeps_the_output() {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = Vec::new();
        let sink = |new: &[u8]| bytes.extend_from_slice(new);
        let running = run(shell(folder.path(), FAMILY), LONG, sink);
        let ready = folder.path().join("ready");
        let (exit, ()) = tokio::join!(running, until_exists(&ready));
        assert_eq!(exit.unwrap(), Exit::TimedOut);
        assert_eq!(bytes, b"before\n");
        let pids = pids(folder.path());
        assert_eq!(pids.len(), 3);
        assert!(absent(pids[1]), "the shell itself must have been waited for");
        for pid in pids {
            until(move || ended(pid)).await;
        }
    }

    #[tokio::test]
    async fn dropping_the_future_ends_the_whole_group() {
        let folder = tempfile::tempdir().unwrap();
        let ready = folder.path().join("ready");
        tokio::select! {
            exit = run(shell(folder.path(), FAMILY), LONG, |_| ()) => {
                panic!("ended by itself: {exit:?}");
            }
            () = until_exists(&ready) => {}
        }
        let pids = pids(folder.path());
        assert_eq!(pids.len(), 3);
        let shell = pids[1];
        until(move || absent(shell)).await;
        for pid in pids {
            until(move || ended(pid)).await;
        }
    }

    #[tokio::test]
    async fn a_process_in_the_background_lives_on_and_can_still_write() {
        let folder = tempfile::tempdir().unwrap();
        let line = "(for i in $(seq 6000); do
                [ -e go ] && break; sleep 0.01
            done
            echo late; head -c 300000 /dev/zero; echo late && touch done) &
            echo started";
        let mut bytes = Vec::new();
        let sink = |new: &[u8]| bytes.extend_from_slice(new);
        let exit = run(shell(folder.path(), line), LONG, sink).await;
        assert_eq!(exit.unwrap(), Exit::Code(0));
        assert_eq!(bytes, b"started\n");
        fs::write(folder.path().join("go"), "").unwrap();
        until_exists(&folder.path().join("done")).await;
    }

    #[tokio::test]
    async fn a_noisy_process_in_the_background_cannot_hold_up_the_answer() {
        let folder = tempfile::tempdir().unwrap();
        let line = "yes & echo $! > pids";
        let exit = run(shell(folder.path(), line), LONG, |_| ()).await;
        assert_eq!(exit.unwrap(), Exit::Code(0));
        let pid = pids(folder.path())[0];
        assert!(!ended(pid));
        let pid = Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, Signal::KILL).unwrap();
    }

    #[tokio::test]
    async fn a_missing_program_is_an_error() {
        let error = run(Command::new("/no/such/program"), LONG, |_| ()).await;
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[tokio::test]
    async fn a_group_that_is_gone_counts_as_killed() {
        let mut command = shell(Path::new("/"), "true");
        let mut child = command.process_group(0).spawn().unwrap();
        let group = GroupGuard::new(child.id());
        child.wait().await.unwrap();
        group.kill().unwrap();
        GroupGuard::new(None).kill().unwrap();
    }
}
