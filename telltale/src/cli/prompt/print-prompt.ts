import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import type { CountedMessage, CountedPart, PromptContent, SessionPrompt } from '../../log/session-prompt.ts';
import { envOf, hideEnv } from '../../manifest/environment.ts';
import type { Palette } from '../../manifest/format-diagnostic.ts';
import type { CountedOpening } from '../../prompt/opening.ts';
import type { Store } from '../../store/store.ts';
import { type CommandContext, EXIT, type ExitCode } from '../command.ts';
import { paletteFor } from '../io.ts';
import { shellWord, usage, wholeNumber } from '../options.ts';
import { loadForRun } from '../run/with-agent.ts';
import { findSession } from '../session/find-session.ts';
import { harmlessLine, harmlessLines } from '../view/harmless.ts';
import { jsonText } from '../view/json-text.ts';
import { type Column, tableLines } from '../view/text-width.ts';

export interface PromptCommandOptions {
  readonly store?: string;
  readonly json?: true;
  readonly manifest?: string;
}

const MANIFEST = /[/\\]|\.(?:ya?ml|json)$/i;

/** Whether an argument names a manifest. Session ids contain neither a slash nor a file extension. */
export const isManifest = (asked: string): boolean => MANIFEST.test(asked);

/** `telltale prompt AGENT`. */
export async function printPreview(
  manifest: string,
  turn: string | undefined,
  options: PromptCommandOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { stdout, env, cwd, clock } = context.io;
  if (turn !== undefined)
    throw usage(
      `This agent has not run yet, so it has no turn '${turn}'.`,
      `Leave the turn out: telltale prompt ${shellWord(manifest)}. Or name a session: telltale prompt SESSION ${turn}.`,
    );
  const agent = await loadForRun(manifest, context, options);
  if (agent === undefined) return EXIT.usage;
  // Nothing is kept, so no store is created.
  const runtime = await context.runtimes.createRuntime({ store: 'memory', env, cwd, clock });
  try {
    const from = envOf(agent.project.manifests);
    const opening = hideEnv((await runtime.preview(agent)) as never, from) as CountedOpening;
    const { name, dialect, model } = agent.manifest;
    const head = { agent: name, ...(model === undefined ? {} : { model }), dialect };
    await stdout.write(
      options.json === true
        ? jsonText({ ...head, ...opening }, 2)
        : `${previewLines(head, opening, paletteFor(stdout)).join('\n')}\n`,
    );
    return EXIT.ok;
  } finally {
    await runtime.close();
  }
}

/** `telltale prompt SESSION [TURN]`. */
export async function printPrompt(
  store: Store,
  asked: string,
  text: string | undefined,
  options: PromptCommandOptions,
  context: CommandContext,
): Promise<void> {
  const { stdout, env, cwd, clock } = context.io;
  const turn = text === undefined ? undefined : wholeNumber('TURN', text);
  const { stream } = await found(store, asked, cwd);
  const runtime = await context.runtimes.createRuntime({ store, env, cwd, clock });
  try {
    const agent = await movedAgent(runtime, stream, options.manifest, context);
    const shown = await runtime.prompt(stream, turn, { ...agent, hideEnvironment: true });
    await stdout.write(
      options.json === true ? jsonText(shown, 2) : `${promptLines(shown, paletteFor(stdout)).join('\n')}\n`,
    );
  } finally {
    await runtime.close();
  }
}

/** Loads a session's agent from another file than the log names. */
async function movedAgent(
  runtime: Awaited<ReturnType<CommandContext['runtimes']['createRuntime']>>,
  session: string,
  file: string | undefined,
  { io: { cwd, env }, runtimes }: CommandContext,
) {
  if (file === undefined) return {};
  const { agent: name } = await runtime.state(session);
  return { agent: await runtimes.loadAgent(file, { cwd, env, name }) };
}

/** The argument may name a file without a manifest's extension. */
async function found(store: Store, asked: string, cwd: string) {
  try {
    return await findSession(store, asked);
  } catch (thrown) {
    if (!(thrown instanceof RuntimeError) || !existsSync(resolve(cwd, asked))) throw thrown;
    throw new RuntimeError(thrown.code, thrown.message, {
      hint: `There is a file of that name. If it is the manifest of an agent, write: telltale prompt ${shellWord(`./${asked}`)}`,
    });
  }
}

const COLUMNS: readonly Column[] = [
  { title: 'PART' },
  { title: '' },
  { title: 'TOKENS', align: 'right' },
  { title: '' },
];

type PromptRow = readonly [part: string, name: string, tokens: number, mark?: string];

/** What `telltale prompt SESSION` prints. */
function promptLines(prompt: SessionPrompt, paint: Palette): readonly string[] {
  const { session, turn, last, at, agent, model, dialect, note, hash, match, tokens } = prompt;
  const when = new Date(at).toISOString().replace('T', ' ').slice(0, 19);
  const sent = match === 'same' ? [`sent:     as shown here (hash ${hash.sent})`] : [];
  return [
    paint.bold(`${session}, turn ${turn} of ${last}`),
    `agent:    ${harmlessLine(agent)}`,
    `model:    ${harmlessLine(model)}`,
    `dialect:  ${dialect}`,
    ...optionLines(prompt),
    `asked:    ${when} UTC (event ${prompt.seq})`,
    ...sent,
    ...(note === undefined
      ? []
      : [paint.yellow(`${match === 'differs' ? 'differs' : 'unknown'}:  ${harmlessLine(note)}`)]),
    `cache:    ${cacheText(prompt)}`,
    '',
    ...partsTable(
      [...frameRows(prompt.system, prompt.tools), ...messageRows(prompt.messages)],
      tokens.total,
      paint,
    ),
    '',
    ...prompt.system.flatMap((part) => systemLines(part, paint)),
    ...prompt.messages.flatMap((message) => messageLines(message, paint)),
    ...toolLines(prompt.tools, paint),
  ];
}

/** What `telltale prompt AGENT` prints. */
function previewLines(
  { agent, model, dialect }: { readonly agent: string; readonly model?: string; readonly dialect: string },
  opening: CountedOpening,
  paint: Palette,
): readonly string[] {
  const { system, tools, tokens } = opening;
  return [
    paint.bold(`${harmlessLine(agent)}, before any run`),
    `model:    ${harmlessLine(model ?? 'none')}`,
    `dialect:  ${dialect}`,
    ...optionLines(opening),
    '',
    ...partsTable(frameRows(system, tools), tokens, paint),
    '',
    ...system.flatMap((part) => systemLines(part, paint)),
    ...toolLines(tools, paint),
  ];
}

/** The options that the runtime sets, and the rest of the request body apart from conversation and tools. */
const optionLines = ({
  options,
  request,
}: Pick<CountedOpening, 'options' | 'request'>): readonly string[] => [
  `options:  ${Object.keys(options).length === 0 ? 'none' : harmlessLine(JSON.stringify(options))}`,
  `request:  ${request === undefined ? 'not known (the provider builds it)' : harmlessLine(JSON.stringify(request))}`,
];

/** How much of the request the provider's cache served. */
function cacheText({ usage }: SessionPrompt): string {
  if (usage === undefined) return 'the request has not ended';
  const { input, cached = 0, estimated } = usage;
  if (estimated === true)
    return `not known: the provider gave no figures (about ${figure(input)} input tokens)`;
  const part = input === 0 ? 0 : Math.round((cached / input) * 100);
  return `${figure(cached)} of ${figure(input)} input tokens came from the provider's cache (${part} %)`;
}

const frameRows = (system: readonly CountedPart[], tools: readonly CountedPart[]): readonly PromptRow[] => [
  ...system.map(({ name, tokens }): PromptRow => ['system', name, tokens]),
  ...tools.map(({ name, tokens }): PromptRow => ['tools', name, tokens]),
];

/** One row for what each turn added. */
function messageRows(messages: readonly CountedMessage[]): readonly PromptRow[] {
  const turns = [...new Set(messages.map((message) => message.turn))];
  return turns.map((each) => {
    const own = messages.filter((message) => message.turn === each);
    const tokens = own.reduce((sum, message) => sum + message.tokens, 0);
    return ['messages', `turn ${each}`, tokens, own.some((message) => message.new) ? 'new' : ''];
  });
}

function partsTable(rows: readonly PromptRow[], total: number, paint: Palette): readonly string[] {
  const cells = rows.map(([part, name, tokens, mark = ''], at) => [
    rows[at - 1]?.[0] === part ? '' : part,
    harmlessLine(name),
    figure(tokens),
    mark,
  ]);
  return tableLines(COLUMNS, [...cells, ['total', '', figure(total), '']], {
    paint: (text, row, column) => (row === -1 ? paint.dim(text) : column === 3 ? paint.green(text) : text),
  });
}

const systemLines = ({ name, text, tokens }: CountedPart, paint: Palette): readonly string[] =>
  block(`system: ${name}`, tokens, text, paint.dim);

function messageLines(message: CountedMessage, paint: Palette): readonly string[] {
  const mark = message.new ? ', new' : '';
  const text = message.content.map(contentText).join('\n');
  return block(
    `${message.role}, turn ${message.turn}${mark}`,
    message.tokens,
    text,
    message.new ? paint.green : paint.dim,
  );
}

const toolLines = (tools: readonly CountedPart[], paint: Palette): readonly string[] =>
  tools.flatMap(({ name, text, tokens }) =>
    block(`tool: ${name}`, tokens, JSON.stringify(JSON.parse(text), null, 2), paint.dim),
  );

function contentText(part: PromptContent): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'reasoning':
      return `[reasoning] ${part.text}`;
    case 'call':
      return `[call ${part.id}] ${part.name} ${part.input}`;
    case 'result':
      return `[${part.failed === true ? 'failed' : 'result'} of call ${part.call}] ${part.name}\n${part.text}`;
  }
}

const block = (
  title: string,
  tokens: number,
  text: string,
  paint: (text: string) => string,
): readonly string[] => [
  paint(`--- ${harmlessLine(title)} (${figure(tokens)} tokens) ---`),
  ...harmlessLines(text.replace(/\n+$/, '')),
  '',
];

const figure = (value: number): string => value.toLocaleString('en');
