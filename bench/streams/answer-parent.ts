import type { ServerFigures } from './scene.ts';

/** Who talks to the clients that are measured. */
export interface Talker {
  start(): void;
  stop(): void;
  /** Events that it has told of so far, where it counts them. */
  readonly emitted?: number;
}

/** How often memory is looked at. */
const LOOK_MS = 100;

/** Does what the parent process says: `talk`, `measure`, and `stop`, which is answered with what was used since. */
export function answerParent(talker: Talker, onStopped: () => void = () => undefined): void {
  let cpu = process.cpuUsage();
  let began = 0;
  let emittedBefore = 0;
  let rss = 0;
  const figures = (): ServerFigures => {
    const { user, system } = process.cpuUsage(cpu);
    return {
      emitted: (talker.emitted ?? 0) - emittedBefore,
      cpuMs: (user + system) / 1000,
      wallMs: performance.now() - began,
      rssMb: rss / 1024 / 1024,
    };
  };
  process.on('message', (message) => {
    switch (message) {
      case 'talk':
        talker.start();
        setInterval(() => {
          rss = Math.max(rss, process.memoryUsage.rss());
        }, LOOK_MS);
        return;
      case 'measure':
        cpu = process.cpuUsage();
        began = performance.now();
        emittedBefore = talker.emitted ?? 0;
        return;
      case 'stop':
        process.send?.(figures());
        talker.stop();
        onStopped();
    }
  });
}
