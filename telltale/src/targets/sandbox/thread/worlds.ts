import type { JSValueHandle } from 'quickjs-wasi';
import type { RunRequest } from '../messages.ts';
import type { Machine, Moment } from './machine.ts';

/** A world in which a module has been evaluated, and the script behind it, where that can be, is ready to be called. */
export interface World {
  readonly moment: Moment;
  readonly script: JSValueHandle | undefined;
}

/**
 * Worlds that are kept between runs. Nothing passes from run to run by them: each begins with the world as it was when
 * the module had been evaluated, byte for byte. Only modules have one that looked at nothing which differs from run to
 * run when they were first evaluated, so that a run cannot tell whether its world was kept.
 */
export interface Worlds {
  /** `make` is called for a module that has shown to be such a one. Undefined: it is to be evaluated for this run. */
  find(
    machine: Machine,
    request: RunRequest,
    make: (globals: string) => World | undefined,
  ): World | undefined;
  /** Tells how the first evaluation went: with the globals to be watched in the next, or without where it looked. */
  evaluated(request: RunRequest, globals: string | undefined): void;
}

/** What is known of a module: nothing is kept before its second run, since most that are checked are not asked. */
interface Known {
  readonly memoryBytes: number;
  readonly now: number;
  /** Undefined where it is to be evaluated for each run. */
  readonly globals: string | undefined;
  readonly source?: string;
  readonly world?: World;
}

const MAX_MODULES = 256;
const MAX_KEPT_BYTES = 8 * 1024 * 1024;

export function createWorlds(): Worlds {
  /** By module; the first was not used for the longest time. */
  const modules = new Map<string, Known>();
  let keptBytes = 0;
  let madeOn: Machine | undefined;

  const forget = (module: string) => {
    keptBytes -= modules.get(module)?.world?.moment.bytes ?? 0;
    modules.delete(module);
  };
  const put = (module: string, known: Known) => {
    forget(module);
    keptBytes += known.world?.moment.bytes ?? 0;
    modules.set(module, known);
    for (const oldest of modules.keys()) {
      if (modules.size <= MAX_MODULES && keptBytes <= MAX_KEPT_BYTES) return;
      forget(oldest);
    }
  };

  return {
    find(machine, { module = '', source, memoryBytes, now, logs }, make) {
      if (machine !== madeOn) {
        for (const [each, { world: _, ...known }] of [...modules]) put(each, known);
        madeOn = machine;
      }
      const known = modules.get(module);
      if (known?.globals === undefined || logs) return undefined;
      if (known.memoryBytes !== memoryBytes || known.now !== now) return undefined;
      const world = known.source === source && known.world !== undefined ? known.world : make(known.globals);
      put(module, world === undefined ? { ...known, globals: undefined } : { ...known, source, world });
      return world;
    },
    evaluated({ module = '', memoryBytes, now, logs }, globals) {
      // What it writes to its console, and the time that it may have read, belong to its run.
      if (!modules.has(module) && now !== undefined && !logs) put(module, { memoryBytes, now, globals });
    },
  };
}
