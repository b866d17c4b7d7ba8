// Whether a process is there, in tests and outside of them.

/** True while a process of that number runs. */
export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
