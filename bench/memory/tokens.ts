import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTokenizer } from '../../telltale/src/agent/tokenizer.ts';
import { createRuntime, loadAgent } from '../../telltale/src/index.ts';
import { renderAnswer } from '../../telltale/src/memory/query/render-answer.ts';
import { median } from '../parsing/measure.ts';
import { figure, table } from '../parsing/table.ts';
import { type Agreement, agreement } from './agreement.ts';
import { calledFunctions, spreadOver } from './asked-symbols.ts';
import type { Measurement } from './measurement.ts';
import { judgeTokens, type TokenFigures } from './token-targets.ts';
import { type Asking, askByFiles, askGraph } from './two-ways.ts';

const SOURCES = fileURLToPath(new URL('../../telltale/src', import.meta.url));
const SYMBOLS = 10;

const MANIFEST = `kind: Agent
name: asked
model: scripted:none.yml
instructions: You answer questions about the code in src.
memory: { graph: ./src }
permissions: { paths: [./src] }
import: { tools: [builtin:filesystem] }
`;

/**
 * The question "where is X defined and who calls it" in two real sessions of one agent on this package's own sources: one
 * asks the graph, one greps for the name and reads each file that grep named.
 */
export const measureTokens: Measurement = async ({ progress }) => {
  const home = mkdtempSync(join(tmpdir(), 'telltale-bench-tokens-'));
  const src = join(home, 'src');
  cpSync(SOURCES, src, { recursive: true });
  writeFileSync(join(home, 'agent.yml'), MANIFEST);
  writeFileSync(join(home, 'none.yml'), 'turns: []\n');
  progress('asking the compiler who calls what');
  const functions = calledFunctions(src);
  const runtime = await createRuntime({ store: `sqlite:${join(home, 'store.db')}`, cwd: home });
  try {
    const asking: Asking = {
      runtime,
      agent: await loadAgent('agent.yml', { cwd: home }),
      tokenizer: await createTokenizer()(),
    };
    progress('indexing');
    const memory = await runtime.memory(src);
    await memory.index();
    const figures: TokenFigures[] = [];
    for (const symbol of spreadOver(functions, SYMBOLS)) {
      progress(`where is ${symbol.name} defined, and who calls it?`);
      const graph = await askGraph(asking, symbol.name);
      const files = await askByFiles(asking, symbol.name);
      figures.push({
        name: symbol.name,
        path: symbol.path,
        graphTokens: graph.tokens,
        fileTokens: files.tokens,
        grepTokens: files.grepTokens,
        files: files.read,
        ...agreement(symbol, graph.answer),
      });
    }
    progress(`all ${functions.length} functions`);
    const all: Agreement[] = [];
    for (const symbol of functions)
      all.push(agreement(symbol, renderAnswer(await memory.query({ symbol: symbol.name }))));
    return { text: report(figures, all), figures: { figures, all }, verdicts: judgeTokens(figures, all) };
  } finally {
    await runtime.close();
    rmSync(home, { recursive: true, force: true });
  }
};

function report(figures: readonly TokenFigures[], all: readonly Agreement[]): string {
  const count = (value: number) => value.toLocaleString('en-US');
  const rows = figures.map((each) => [
    `${each.name} (${each.path})`,
    count(each.graphTokens),
    count(each.fileTokens),
    figure(each.fileTokens / each.graphTokens),
    count(each.files),
    count(each.grepTokens),
    each.isDefined ? 'yes' : 'no',
    `${each.callers} of ${each.calls}`,
    `${each.lines} of ${each.calls}`,
  ]);
  const total = (pick: (each: Agreement) => number) => all.reduce((sum, each) => sum + pick(each), 0);
  const mid = (pick: (each: TokenFigures) => number) => figure(median(figures.map(pick)));
  return [
    '"Where is X defined and who calls it?" on telltale/src, each in two sessions of one agent: tokens (o200k) of all that the conversation grew by, calls and results, without the answer. Exported functions with 3 to 30 calls, one a room, the nearest to the room\'s median.',
    '',
    table(
      [
        'X',
        'by the graph',
        'grep, then its files',
        'times',
        'files',
        'grep alone',
        'defined',
        'callers named',
        'lines named',
      ],
      rows,
    ),
    '',
    `Medians: ${mid((each) => each.fileTokens / each.graphTokens)} times as many by files, ${mid((each) => each.grepTokens / each.graphTokens)} times by grep alone, which gives lines and no callers.`,
    `All ${count(all.length)} such functions: of ${count(total(({ calls }) => calls))} calls that the compiler finds the graph names the caller of ${count(total(({ callers }) => callers))} and the line of ${count(total(({ lines }) => lines))}.`,
  ].join('\n');
}
