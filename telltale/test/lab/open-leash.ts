import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const LEASH = fileURLToPath(new URL('./leash.mjs', import.meta.url));

/** Ends processes and mounts with this process, however that ends. */
export interface Leash {
  hold(pid: number): void;
  letGo(pid: number): void;
  /** A disk of its own in memory; undefined where that is not allowed. */
  mount(folder: string, megabytes: number): Promise<{ unmount(): Promise<void> } | undefined>;
  close(): Promise<void>;
}

export function openLeash(): Leash {
  const child = spawn(process.execPath, [LEASH], { stdio: ['pipe', 'ignore', 'ignore'] });
  child.stdin.on('error', () => undefined); // it ends with this process
  const ended = once(child, 'close');
  const tell = (line: string) => void child.stdin.write(`${line}\n`);
  return {
    hold: (pid) => tell(`+${pid}`),
    letGo: (pid) => tell(`-${pid}`),
    async mount(folder, megabytes) {
      tell(`mount ${folder}`);
      try {
        await promisify(execFile)('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder]);
      } catch {
        tell(`unmount ${folder}`);
        return undefined; // only root may, and not in every container
      }
      return {
        async unmount() {
          await promisify(execFile)('umount', ['-l', folder]);
          tell(`unmount ${folder}`);
        },
      };
    },
    async close() {
      child.stdin.end();
      await ended;
    },
  };
}
