// In a process of its own, since it wants `gc`: `child.ts LOAD`. Its last line is JSON.
import { type FeedLoad, measureTurns } from './turn-costs.ts';

const load = JSON.parse(process.argv[2] ?? '{}') as FeedLoad;
console.log(JSON.stringify(await measureTurns(load, (line) => process.stderr.write(`${line}\n`))));
