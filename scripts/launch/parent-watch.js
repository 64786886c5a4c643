const LOOK_MS = 500;

/**
 * `npm start` and `npm test` run us below a shell, which ends by a signal without passing it on. Whoever has started
 * us is gone then, so we end as if the signal had come to us. Started by hand we go on, as background jobs do.
 */
export function endWithParent() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const look = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(look);
    process.kill(process.pid, 'SIGTERM');
  }, LOOK_MS);
  look.unref();
}
