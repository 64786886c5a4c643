// A program that runs an idempotent tool which never yields to the event loop: `node run-ahead-victim.ts FOLDER KIND KILL_AT`.
// KIND is `session` (one turn with a thousand actions) or `run` (a workflow that loops over a thousand items). Each call
// adds a byte to the file `effects`. At the call KILL_AT the process kills itself, in the middle of the call.
import { openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { createRuntime, defineAgent, defineTool, defineWorkflow, findWorkflow } from '../../src/index.ts';
import { scripted } from '../../src/testing/index.ts';

const [folder = '.', kind = 'session', killAt = '1'] = process.argv.slice(2);
const CALLS = 1_000;

const effects = openSync(join(folder, 'effects'), 'a');
let calls = 0;
const busy = defineTool({
  name: 'busy',
  idempotent: true,
  parameters: z.object({ index: z.number().optional() }),
  run() {
    writeSync(effects, 'x');
    if (++calls === Number(killAt)) process.kill(process.pid, 'SIGKILL');
    return calls;
  },
});

const items = Array.from({ length: CALLS }, (_, index) => index);
const loop = defineWorkflow({
  name: 'loop',
  input: z.object({ items: z.array(z.number()) }),
  steps: [
    {
      name: 'all',
      type: 'foreach',
      in: '${input.items}',
      as: 'item',
      max_parallel: 4,
      body: [{ name: 'one', type: 'tool', target: 'busy', parameters: {} }],
    },
  ],
});
const agent = await defineAgent({ name: 'worker', tools: [busy], workflows: [loop] });

const runtime = await createRuntime({ store: 'sqlite:store.db', cwd: folder });
if (kind === 'session') {
  const turn = items
    .map(
      // Each is another call: a model that makes the same one again and again is cut off.
      (index) =>
        `<action id="a${index}" type="tool" mode="async">{"name":"busy","parameters":{"index":${index}}}</action>`,
    )
    .join('\n');
  const model = scripted([turn, '<response>Done.</response>']);
  await runtime.start(agent, { input: 'Go.', id: 'ses_busy', model }).result;
} else {
  await runtime.workflows.start(findWorkflow(agent, loop), { input: { items }, id: 'run_busy' }).result;
}
await runtime.close();
