import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { PEERS } from './agents/field.ts';
import { installPeers } from './agents/install-peers.ts';
import { runNode } from './agents/run-child.ts';
import { exitCode, printVerdicts } from './agents/verdict.ts';
import { describeMachine } from './parsing/machine.ts';
import { table } from './parsing/table.ts';
import { TASKS } from './tasks/catalog.ts';
import { countTokens } from './tasks/count-tokens.ts';
import type { RunOptions, SystemFigures } from './tasks/run-system.ts';
import {
  fixedOf,
  inputOf,
  isRight,
  judgeTasks,
  outputOf,
  requestsOf,
  uncachedOf,
  wallOf,
} from './tasks/targets.ts';
import { INSTRUCTIONS, RESEARCHER, RESEARCHER_DESCRIPTION, TOOLS } from './tasks/world.ts';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const SYSTEMS = [
  { id: 'tags', file: at('./tasks/telltale-tags.ts'), isOurs: true },
  { id: 'tools', file: at('./tasks/telltale-tools.ts'), isOurs: true },
  { id: 'ai-sdk', file: `${PEERS}/tasks/ai-sdk.js`, isOurs: false },
  { id: 'openai-agents', file: `${PEERS}/tasks/openai-agents.js`, isOurs: false },
  { id: 'langgraph', file: `${PEERS}/tasks/langgraph.js`, isOurs: false },
  { id: 'mastra', file: `${PEERS}/tasks/mastra.js`, isOurs: false },
] as const;
const RUN = at('./tasks/run-system.ts');

const USAGE = `npm run bench -- tasks [options]
  Ten tasks, done by each system with the same simulated model over HTTP. bench/tasks/README.md says how.
  --task LIST     only these of ${TASKS.map(({ id }) => id).join(', ')}
  --system LIST   only these of ${SYSTEMS.map(({ id }) => id).join(', ')}
  --speed N       model and tools N times faster, for a quick look (1)
  --at-once N     systems that run at the same time (3)
  --list          the tasks, and what the user asks in them
  --no-fail       print the targets, but end with 0 when one is missed
  --json          machine-readable output`;

const { values: options } = parseArgs({
  options: {
    task: { type: 'string', default: TASKS.map(({ id }) => id).join(',') },
    system: { type: 'string', default: SYSTEMS.map(({ id }) => id).join(',') },
    speed: { type: 'string', default: '1' },
    'at-once': { type: 'string', default: '3' },
    list: { type: 'boolean', default: false },
    'no-fail': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const words = (list: string) => list.split(',').map((word) => word.trim());
const [tasks, systems] = [words(options.task), words(options.system)];
const [speed, atOnce] = [Number(options.speed), Number(options['at-once'])];
const unknown = [
  ...tasks.filter((id) => !TASKS.some((task) => task.id === id)).map((id) => `There is no task "${id}".`),
  ...systems
    .filter((id) => !SYSTEMS.some((each) => each.id === id))
    .map((id) => `There is no system "${id}".`),
  ...(speed > 0 ? [] : ['--speed must be above zero.']),
  ...(Number.isInteger(atOnce) && atOnce > 0 ? [] : ['--at-once must be a whole number above zero.']),
];
if (options.help || unknown.length > 0) {
  for (const line of unknown) process.stderr.write(`✗ ${line}\n`);
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}
if (options.list) {
  for (const { id, title, question, isChainFree } of TASKS)
    console.log(`${id}: ${title}${isChainFree === true ? ' (no chains)' : ''}\n  ${question}`);
  process.exit(0);
}

const progress = (line: string) => process.stderr.write(`${line}\n`);
const chosen = SYSTEMS.filter(({ id }) => systems.includes(id));
if (chosen.some(({ isOurs }) => !isOurs)) {
  try {
    await installPeers(progress);
  } catch (error) {
    process.stderr.write(`✗ ${(error as Error).message}\n`);
    process.exit(1);
  }
}

const figures = new Map<string, SystemFigures>();
const failures: string[] = [];
const waiting = [...chosen];
await Promise.all(Array.from({ length: atOnce }, runNext));

const done = chosen.flatMap(({ id, isOurs }) => {
  const system = figures.get(id);
  return system === undefined ? [] : [{ ...system, isOurs }];
});
const ours = done.filter(({ isOurs }) => isOurs);
const peers = done.filter(({ isOurs }) => !isOurs);
const chainFree = TASKS.filter(({ isChainFree }) => isChainFree === true).map(({ id }) => id);
const verdicts = judgeTasks(ours, peers, chainFree, nativeTokens());
const machine = describeMachine();
if (options.json) console.log(JSON.stringify({ machine, speed, systems: done, failures, verdicts }, null, 2));
else report();
process.exitCode =
  failures.length > 0
    ? 1
    : options.json
      ? exitCode(verdicts, options['no-fail'])
      : printVerdicts(verdicts, options['no-fail']);

async function runNext(): Promise<void> {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    progress(`${next.id}: ${tasks.length} tasks`);
    try {
      const run: RunOptions = { tasks, speed };
      figures.set(next.id, (await runNode([RUN, next.file, JSON.stringify(run)])) as SystemFigures);
      progress(`${next.id}: done`);
    } catch (error) {
      failures.push(`${next.id}: ${(error as Error).message}`);
    }
  }
}

/** The instructions and the tools as a request without any framework would have them. */
function nativeTokens(): number {
  const tool = (name: string, description: string, parameters: Readonly<Record<string, string>>) => ({
    type: 'function',
    function: {
      name,
      description,
      parameters: {
        type: 'object',
        properties: Object.fromEntries(
          Object.entries(parameters).map(([key, about]) => [key, { type: 'string', description: about }]),
        ),
        required: Object.keys(parameters),
        additionalProperties: false,
      },
    },
  });
  const tools = [
    ...TOOLS.map(({ name, description, parameters }) => tool(name, description, parameters)),
    tool(RESEARCHER, RESEARCHER_DESCRIPTION, { input: 'The question' }),
  ];
  const system = { role: 'system', content: INSTRUCTIONS };
  return countTokens(JSON.stringify(tools) + JSON.stringify([system]));
}

function report(): void {
  const seconds = (ms: number) => (ms / 1000).toFixed(1);
  const whole = (value: number) => value.toLocaleString('en-US');
  console.log(`\n${machine}${speed === 1 ? '' : `; model and tools ${speed} times faster`}\n`);
  console.log(
    table(
      [
        '',
        'seconds',
        'requests',
        'input tokens',
        'of them not from cache',
        'output tokens',
        'system prompt + schemas',
        'tasks right',
      ],
      done.map((system) => [
        system.name,
        seconds(wallOf(system)),
        whole(requestsOf(system)),
        whole(inputOf(system)),
        whole(uncachedOf(system)),
        whole(outputOf(system)),
        whole(fixedOf(system)),
        `${system.tasks.filter(({ wrong }) => wrong === undefined).length} of ${system.tasks.length}`,
      ]),
    ),
  );
  const cell = (system: SystemFigures, id: string) => {
    const task = system.tasks.find((each) => each.task === id);
    if (task === undefined) return '–';
    return task.wrong === undefined ? `${seconds(task.wallMs)} s, ${task.requests}` : 'wrong';
  };
  console.log(`\nSeconds and requests of each task:\n`);
  console.log(
    table(
      ['', ...done.map(({ name }) => name)],
      TASKS.filter(({ id }) => tasks.includes(id)).map(({ id, isChainFree }) => [
        `${id}${isChainFree === true ? ' (no chains)' : ''}`,
        ...done.map((system) => cell(system, id)),
      ]),
    ),
  );
  console.log(
    `\nTimers were late by ${Math.max(0, ...done.map(({ lagMs }) => lagMs)).toFixed(1)} ms at most (99th percentile of the worst process), of 600 ms to a first token.`,
  );
  for (const system of done.filter((each) => !isRight(each)))
    for (const { task, wrong } of system.tasks)
      if (wrong !== undefined) console.log(`\n✗ ${system.name}, ${task}: ${wrong}`);
  for (const failure of failures) console.log(`\n✗ ${failure}`);
}
