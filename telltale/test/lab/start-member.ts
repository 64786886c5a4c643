// The command line, from the sources: what the package's bin starts.
import { start } from '../../src/cli/start.ts';

process.exit(await start(process.argv.slice(2)));
