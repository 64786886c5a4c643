import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { envOf, hideEnv } from '../../manifest/env/hide-env.ts';
import type { CountedOpening } from '../../prompt/prompt-parts.ts';
import type { Store } from '../../store/store.ts';
import { paletteFor } from '../colour.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { loadForRun } from '../run/load-for-run.ts';
import { findSession } from '../session/find-session.ts';
import { shellWord, usage } from '../usage.ts';
import { jsonText } from '../view/json-line.ts';
import { wholeNumber } from '../whole-number.ts';
import { previewLines, promptLines } from './prompt-lines.ts';

export interface PromptOptions {
  readonly store?: string;
  readonly json?: true;
  readonly manifest?: string;
}

const MANIFEST = /[/\\]|\.(?:ya?ml|json)$/i;

/** Whether an argument means a manifest. Ids of sessions have neither a slash nor such an ending. */
export const isManifest = (asked: string): boolean => MANIFEST.test(asked);

/** `telltale prompt AGENT`. */
export async function printPreview(
  manifest: string,
  turn: string | undefined,
  options: PromptOptions,
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
  // Nothing is kept, so no store is made.
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
  options: PromptOptions,
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

/** The agent of a session from another file than the one that its log names. */
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

/** A file whose name looks like no manifest's may be meant. */
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
