import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { Runtime } from '../../src/agent/runtime-types.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import type { RuntimeError } from '../../src/lib/errors.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import type { RunEvent } from '../../src/log/run-event.ts';
import type { Telemetry } from '../../src/telemetry/create-telemetry.ts';
import { createTelemetry, type TelemetryOptions } from '../../src/telemetry/create-telemetry.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { agentFolder, tool } from '../agent/run-agent.ts';

const action = (id: string, name: string, body: object = {}, attributes = '') =>
  `<action id="${id}" mode="async" ${attributes}>${JSON.stringify({ name, parameters: {}, ...body })}</action>`;

const FILES = {
  ...tool('echo', 'return { said: input.text ?? null };'),
  ...tool('broken', "throw new Error('secret words');"),
  ...tool(
    'flaky',
    `run.calls = (run.calls ?? 0) + 1;
     if (run.calls === 1) throw Object.assign(new Error('not yet'), { retryable: true });
     return 'at last';`,
  ),
  'team/helper.yml': 'kind: Agent\nname: helper\nmodel: scripted:./helper.json\n',
  'team/helper.json': JSON.stringify({ turns: ['<response>Helped.</response>'] }),
  'flows/docs.yml': `kind: Workflow
name: docs
trigger: { type: metadata_match, conditions: { status: CODING } }
steps:
  - name: each
    type: foreach
    in: [1, 2]
    body:
      - { name: write, type: tool, target: echo, parameters: { text: page } }
`,
  'flows/called.yml': `kind: Workflow
name: called
steps:
  - { name: ask, type: agent, target: helper, parameters: { input: Help me. } }
  - { name: fail, type: tool, target: broken, on_error: continue }
`,
};

const MANIFEST = `import: { tools: [./tools/*.yml], agents: [./team/*.yml], workflows: [./flows/*.yml] }
metadata:
  fields:
    status: { values: [IDLE, CODING, DONE], default: IDLE }
    note: { type: string }
`;

const TURNS = [
  `<metadata>{"status": "CODING", "note": "private"}</metadata>${action('t1', 'echo', { parameters: { text: 'hello' } })}${action('b1', 'broken')}${action('f1', 'flaky', { retry: 1, on_error: 'retry' })}${action('h1', 'helper', { parameters: { input: 'Please.' } }, 'type="agent"')}${action('w1', 'called', {}, 'type="workflow"')}${action('u1', 'nosuch')}<response final="false">$t1 $h1 $w1 $f1</response>`,
  '<metadata>{"status": "DONE"}</metadata><response>Done.</response>',
];

export interface Told {
  readonly session: string;
  readonly events: readonly SessionEvent[];
  readonly all: readonly (SessionEvent | RunEvent)[];
}

export const telemetryOf = (env: TelemetryOptions['env'], more: Partial<TelemetryOptions> = {}) => {
  const errors: RuntimeError[] = [];
  const onError = (error: RuntimeError) => void errors.push(error);
  const clock = createSystemClock();
  return { errors, telemetry: createTelemetry({ env, version: '1.2.3', clock, onError, ...more }) };
};

/** A session with everything in it: tools that work, fail and are tried again, a sub-agent, workflows called and set off. */
export async function tellStory(telemetry: Telemetry): Promise<Told> {
  const folder = agentFolder(MANIFEST, FILES);
  const runtime = await createRuntime({ store: 'memory', cwd: folder, random: () => 0 });
  const all: (SessionEvent | RunEvent)[] = [];
  watchWith(runtime, telemetry, all);
  try {
    const agent = await loadAgent('agent.yml', { cwd: folder });
    const model = scripted(TURNS, { id: 'anthropic/claude-test' });
    const session = runtime.start(agent, { input: 'Do it, in private.', model });
    await session.result;
    await runtime.workflows.idle();
    return { session: session.id, events: await runtime.events(session.id), all };
  } finally {
    await runtime.close();
  }
}

export function watchWith(runtime: Runtime, telemetry: Telemetry, all: (SessionEvent | RunEvent)[]): void {
  runtime.watch((event) => all.push(event));
  runtime.watch(telemetry.observe);
}
