import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRuntime, loadAgent } from '../../telltale/src/index.ts';
import type { MemoryAnswer } from '../../telltale/src/memory/memory.ts';
import { createTokenizer } from '../../telltale/src/session/tokenizer.ts';
import { median } from '../parsing/measure.ts';
import { figure, table } from '../parsing/table.ts';
import { type AskedSymbol, askedSymbols } from './asked-symbols.ts';
import type { Measurement } from './measurement.ts';
import { type Asking, askByFiles, askGraph } from './two-ways.ts';
import { judgeTokens, type TokenFigures } from './token-targets.ts';

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
  const symbols = askedSymbols(src, SYMBOLS);
  const runtime = await createRuntime({ store: `sqlite:${join(home, 'store.db')}`, cwd: home });
  try {
    const asking: Asking = {
      runtime,
      agent: await loadAgent('agent.yml', { cwd: home }),
      tokenizer: await createTokenizer()(),
    };
    progress('indexing');
    await (await runtime.memory(src)).index();
    const figures: TokenFigures[] = [];
    for (const symbol of symbols) {
      progress(`where is ${symbol.name} defined, and who calls it?`);
      const graph = await askGraph(asking, symbol.name);
      const files = await askByFiles(asking, symbol.name);
      figures.push({
        ...{ name: symbol.name, path: symbol.path, calls: symbol.calls.length },
        ...{ graphTokens: graph.tokens, fileTokens: files.tokens, grepTokens: files.grepTokens },
        files: files.read,
        ...agreement(symbol, graph.answer),
      });
    }
    return { text: report(figures), figures, verdicts: judgeTokens(figures) };
  } finally {
    await runtime.close();
    rmSync(home, { recursive: true, force: true });
  }
};

/** What of the compiler's findings the graph's answer names. */
function agreement(
  { path, line, calls }: AskedSymbol,
  { nodes, edges }: MemoryAnswer,
): Pick<TokenFigures, 'isDefined' | 'callers' | 'lines'> {
  const at = `${path}:${line}`;
  const callers = edges.filter(({ kind, to }) => kind === 'calls' && to === at);
  const named = new Set(callers.map((edge) => edge.at));
  const from = new Set(callers.map((edge) => edge.from));
  const isNamed = (call: AskedSymbol['calls'][number]) => named.has(`${call.path}:${call.line}`);
  return {
    isDefined: nodes.some((node) => node.kind === 'symbol' && node.at === at),
    lines: calls.filter(isNamed).length,
    // A caller that calls it twice is named once.
    callers: calls.filter(
      (call) =>
        isNamed(call) ||
        from.has(call.path) ||
        call.within.some((around) => from.has(`${call.path}:${around}`)),
    ).length,
  };
}

function report(figures: readonly TokenFigures[]): string {
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
  const total = (pick: (each: TokenFigures) => number) => figures.reduce((sum, each) => sum + pick(each), 0);
  const calls = total((each) => each.calls);
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
    `Median: ${figure(median(figures.map(({ fileTokens, graphTokens }) => fileTokens / graphTokens)))} times as many; ${figure(median(figures.map(({ grepTokens, graphTokens }) => grepTokens / graphTokens)))} times with grep alone, which gives lines and no callers. Of ${calls} calls that the compiler finds the graph names the caller of ${total((each) => each.callers)}, and the line of ${total((each) => each.lines)}.`,
  ].join('\n');
}
