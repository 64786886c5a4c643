// The command line, from the sources, as the package's bin starts it; but a store on PostgreSQL is opened as the lab does:
// `node start-member.ts ARGS`.

import { sessionRuntimes } from '../../src/cli/command.ts';
import { guardProcess } from '../../src/cli/guard-process.ts';
import { main } from '../../src/cli/main.ts';
import { processIo } from '../../src/cli/process-io.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { openLabStore } from './open-lab-store.ts';

const program = 'telltale';
const guard = guardProcess({ program });
const cwd = process.cwd();
process.exitCode = await main(process.argv.slice(2), processIo({ cwd, program }, guard), undefined, {
  ...sessionRuntimes,
  openStore: (location) => openLabStore(location, { clock: createSystemClock(), cwd }),
  async createRuntime(options) {
    const { store: location } = options;
    if (typeof location !== 'string') return sessionRuntimes.createRuntime(options);
    const store = await openLabStore(location, { clock: createSystemClock(), cwd });
    const runtime = await sessionRuntimes.createRuntime({ ...options, store }).catch(async (thrown) => {
      await store.close();
      throw thrown;
    });
    const close = async () => {
      await runtime.close();
      await store.close();
    };
    return { ...runtime, close };
  },
});
guard.finished();
process.exit();
