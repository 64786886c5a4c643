// One measurement of one contestant, in a process of its own: `child.ts FILE MEASUREMENT OPTIONS`. Its last line is JSON.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AgentContestant } from './contestant.ts';
import { type LoadOptions, measureHeld, measureSteps } from './measurements.ts';

const [file = '', measurement = '', given = '{}'] = process.argv.slice(2);
const options = JSON.parse(given) as LoadOptions;
const root = mkdtempSync(join(tmpdir(), 'telltale-bench-agent-'));
let made = 0;
const folders = () => {
  made += 1;
  return mkdtempSync(join(root, `${made}-`));
};

try {
  const { contestant } = (await import(file)) as { readonly contestant: AgentContestant };
  console.log(JSON.stringify(await measure(contestant)));
} finally {
  rmSync(root, { recursive: true, force: true });
}

async function measure(contestant: AgentContestant): Promise<unknown> {
  switch (measurement) {
    case 'steps':
      return measureSteps(contestant, options, folders);
    case 'held':
      return measureHeld(contestant, options, folders);
  }
  throw new Error(`There is no measurement "${measurement}".`);
}
