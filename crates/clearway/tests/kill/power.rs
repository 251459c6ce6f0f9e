//! A power cut: the file system of the database is shut down under the running process, without a
//! last write, so that only what is on its device remains.
//!
//! The test needs root, a loop device, `mkfs.ext4`, and Python to request the shutdown. Without one
//! of them it reports that it is skipped. `CLEARWAY_POWER_CUTS` sets the number of cuts.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use clearway_sync::thread;
use clearway_testkit::Random;

use super::{Acknowledged, GRACE, Totals, Victim, check, directory, setting};
use crate::child::Role;

/// Cuts, unless the environment says otherwise.
const CUTS: u64 = 3;
/// Size of the file system.
const DEVICE_BYTES: u64 = 512 << 20;
/// Cuts of one database. It grows with each cut, and would fill the device after about ninety.
const CUTS_A_DATABASE: u64 = 25;
/// `EXT4_IOC_SHUTDOWN` with the flag that leaves the journal unflushed.
const SHUTDOWN: &str = "import fcntl,os,struct,sys; \
    fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack('I', 2))";

fn quietly(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A file system in a file, mounted; unmounted when it goes out of scope.
struct Device {
    image: PathBuf,
    mount: PathBuf,
}

impl Device {
    fn make(place: &Path) -> Option<Device> {
        let device = Device { image: place.join("image"), mount: place.join("mount") };
        std::fs::create_dir(&device.mount).ok()?;
        std::fs::File::create(&device.image).and_then(|file| file.set_len(DEVICE_BYTES)).ok()?;
        let made = quietly("mkfs.ext4", &["-q", "-F", device.image.to_str()?]);
        (made && device.mount()).then_some(device)
    }

    fn mount(&self) -> bool {
        let (image, mount) = (self.image.to_str().unwrap(), self.mount.to_str().unwrap());
        quietly("mount", &["-o", "loop", image, mount])
    }

    fn unmount(&self) -> bool {
        quietly("umount", &[self.mount.to_str().unwrap()])
    }

    /// Shuts the file system down: nothing more reaches the device.
    fn cut_power(&self) -> bool {
        quietly("python3", &["-c", SHUTDOWN, self.mount.to_str().unwrap()])
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.unmount();
    }
}

#[test]
#[ignore = "a lane of its own: cargo xtask prove --minutes 5 --lane power"]
fn a_power_cut_loses_no_acknowledged_transaction() {
    let (place, mut acknowledged) = (directory(), Acknowledged::default());
    let mut total = Totals::default();
    let Some(device) = Device::make(place.path()) else {
        println!("SKIPPED: no file system can be made and mounted here");
        return;
    };
    let seed = setting("CLEARWAY_KILL_SEED", 1);
    let mut random = Random::new(seed ^ 0x0FF);
    let path = device.mount.join("db");
    for cut in 0..setting("CLEARWAY_POWER_CUTS", CUTS) {
        if cut > 0 && cut % CUTS_A_DATABASE == 0 {
            std::fs::remove_dir_all(&path).unwrap();
            total.add(std::mem::take(&mut acknowledged).totals());
        }
        let mut victim = Victim::start(&path, Role::Load, seed + cut);
        victim.wait_open();
        thread::sleep(Duration::from_millis(random.below(200)));
        if !device.cut_power() {
            println!("SKIPPED: the file system cannot be shut down here");
            return;
        }
        victim.die(&mut acknowledged, GRACE);
        assert!(device.unmount() && device.mount(), "the file system does not come back");
        check(&path, &acknowledged, Role::Load, seed + cut);
    }
    total.add(acknowledged.totals());
    println!("{total}, all found");
    assert!(total.all > 0);
}
