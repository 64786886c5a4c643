import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import ts from 'typescript';
import { runCaptured } from '../launch/run-captured.js';

/** How far one action walks, from the chunk that closes its tag to its result on the log. */
export interface Walk {
  readonly calls: number;
  readonly functions: number;
  readonly files: number;
  /** How often the next call is in another file than the one before. */
  readonly fileChanges: number;
}

/** Runs an agent through the library's entry; of its second action everything that is called is recorded. */
const SCENARIO = `
import { createRuntime, defineAgent, defineTool } from './telltale/src/index.ts';
import { z } from 'zod';

const trace = [];
let isOn = false;
globalThis.__walk = (what) => {
  if (isOn) trace.push(what);
};
const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }) => a + b,
});
const pause = () => new Promise((done) => setTimeout(done, 60));
let turn = 0;
const model = {
  id: 'walk/model',
  async stream(_request, sink) {
    turn++;
    if (turn === 1) {
      sink.text('<action id="w">{"name":"add","parameters":{"a":1,"b":1}}</action>');
      await pause();
      sink.text('more');
    } else if (turn === 2) {
      isOn = true;
      sink.text('<action id="sum">{"name":"add","para');
      sink.text('meters":{"a":2,"b":3}}</action>');
      await pause();
      isOn = false;
      sink.text('ok');
    } else sink.text('<response>It is $sum.</response>');
    return { finish: 'stop', usage: { input: 1, output: 1 } };
  },
};
const agent = await defineAgent({ name: 'calc', instructions: 'Add.', model, tools: [add] });
const runtime = await createRuntime({ store: 'memory' });
const { status } = await runtime.start(agent, { input: 'hi' }).result;
await runtime.close();
console.log(JSON.stringify(trace));
process.exitCode = status === 'completed' ? 0 : 1;
`;

/** A timer that fires within the window adds a few calls, so the shortest of these walks counts. */
const RUNS = 3;

/** Copies the sources to a temporary folder, puts a mark into every function there, and counts the marks of one action. */
export async function walkOneAction(root: string): Promise<Walk> {
  const temporary = mkdtempSync(join(tmpdir(), 'walk-'));
  try {
    const src = join(temporary, 'telltale/src');
    cpSync(join(root, 'telltale/src'), src, { recursive: true });
    for (const file of ['package.json', 'telltale/package.json'])
      cpSync(join(root, file), join(temporary, file));
    symlinkSync(join(root, 'node_modules'), join(temporary, 'node_modules'));
    for (const file of readdirSync(src, { recursive: true, encoding: 'utf8' }))
      if (file.endsWith('.ts')) writeFileSync(join(src, file), markFunctions(src, join(src, file)));
    writeFileSync(join(temporary, 'scenario.ts'), SCENARIO);
    const walks: Walk[] = [];
    for (let run = 0; run < RUNS; run++) walks.push(await walkOnce(temporary));
    return walks.reduce((best, walk) => (walk.fileChanges < best.fileChanges ? walk : best));
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

async function walkOnce(folder: string): Promise<Walk> {
  const run = await runCaptured(process.execPath, ['--disable-warning=ExperimentalWarning', 'scenario.ts'], {
    cwd: folder,
    env: process.env,
  });
  if (run.code !== 0) throw new Error(`The walk's agent did not complete:\n${run.output}`);
  return countWalk(JSON.parse(run.output.trim().split('\n').at(-1) ?? '[]') as readonly string[]);
}

function countWalk(trace: readonly string[]): Walk {
  const files = trace.map((call) => call.slice(0, call.indexOf('#')));
  return {
    calls: trace.length,
    functions: new Set(trace).size,
    files: new Set(files).size,
    fileChanges: files.filter((file, at) => at > 0 && file !== files[at - 1]).length,
  };
}

/** The file's text with a call of `__walk` at the start of each function. */
function markFunctions(src: string, path: string): string {
  const text = readFileSync(path, 'utf8');
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const marks: (readonly [at: number, mark: string])[] = [];
  const look = (node: ts.Node): void => {
    const body = isMarked(node) ? node.body : undefined;
    if (body !== undefined) {
      const name = JSON.stringify(`${relative(src, path)}#${nameOf(node)}`);
      if (ts.isBlock(body)) marks.push([body.getStart() + 1, `globalThis.__walk?.(${name});`]);
      else marks.push([body.getStart(), `(globalThis.__walk?.(${name}), `], [body.end, ')']);
    }
    ts.forEachChild(node, look);
  };
  look(tree);
  let marked = text;
  for (const [at, mark] of marks.sort(([one], [other]) => other - one))
    marked = marked.slice(0, at) + mark + marked.slice(at);
  return marked;
}

const isMarked = (node: ts.Node) =>
  ts.isFunctionDeclaration(node) ||
  ts.isFunctionExpression(node) ||
  ts.isMethodDeclaration(node) ||
  ts.isGetAccessor(node) ||
  ts.isArrowFunction(node);

function nameOf(node: ts.Node): string {
  const { name } = node as ts.FunctionDeclaration;
  if (name !== undefined) return name.getText();
  let outer = node.parent;
  while (ts.isParenthesizedExpression(outer)) outer = outer.parent;
  if (ts.isVariableDeclaration(outer) || ts.isPropertyAssignment(outer) || ts.isPropertyDeclaration(outer))
    return outer.name.getText();
  return `at ${node.getStart()}`;
}
