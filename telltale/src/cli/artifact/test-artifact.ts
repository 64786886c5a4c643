import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import {
  type ArtifactDraft,
  type Artifacts,
  type ArtifactVersion,
  GENESIS,
} from '../../tools/artifacts/artifacts.ts';
import { readDraft } from '../../tools/artifacts/open-artifacts.ts';
import type { ArtifactTested } from '../../tools/artifacts/test-artifact.ts';
import { type CommandContext, EXIT, type ExitCode } from '../command.ts';
import { type Io, paletteFor } from '../io.ts';
import { usage } from '../options.ts';
import { readJson, readObject } from '../parse/read-text.ts';
import { startProgress } from '../progress.ts';
import { checkedManifests } from '../validate/print-result.ts';
import { countText, spanText } from '../view/figures.ts';
import { harmlessLine } from '../view/harmless.ts';
import { jsonText } from '../view/json-text.ts';
import { brief } from '../view/text-width.ts';

export interface TestOptions {
  readonly args?: string;
  readonly context?: string;
  readonly name?: string;
  readonly seed?: string;
  readonly json?: true;
}

const MAX_SHOWN = 2000;

/** `telltale artifact test`: calls an artifact as a run would, without a store. */
export async function testFile(
  file: string,
  asked: string | undefined,
  options: TestOptions,
  { io }: CommandContext,
): Promise<ExitCode> {
  const args = options.args === undefined ? [] : await readArgs(options.args, io);
  const context =
    options.context === undefined ? undefined : await readObject('--context', options.context, io);
  const [{ createSandbox }, { testArtifact, TEST_CONTEXT }] = await Promise.all([
    import('../../tools/sandbox/create-sandbox.ts'),
    import('../../tools/artifacts/test-artifact.ts'),
  ]);
  refuseUnknown(Object.keys(context ?? {}), Object.keys(TEST_CONTEXT));
  const read = await readArtifact(file, options.name, io, options);
  if (read === undefined) return EXIT.usage;
  const { draft, others } = read;
  const method = methodOf(draft, asked, file);
  const tested = await ask();
  await (options.json === true ? printJson(tested) : print(tested));
  return tested.answer.ok ? EXIT.ok : EXIT.failed;

  async function ask(): Promise<ArtifactTested> {
    const sandbox = createSandbox({ clock: io.clock });
    const stopProgress = startProgress(io, () => `Asking ${draft.name}…`);
    try {
      const given = { source: draft.source, name: draft.name, method, args, others, signal: io.signal };
      return await testArtifact(
        {
          ...given,
          ...(context === undefined ? {} : { context }),
          ...(options.seed === undefined ? {} : { seed: options.seed }),
        },
        { sandbox, clock: io.clock },
      );
    } finally {
      await stopProgress();
      await sandbox.close();
    }
  }

  async function printJson({ answer, meant, context: seen }: ArtifactTested): Promise<void> {
    const { version: _version, ...said } = answer;
    await io.stdout.write(
      jsonText({ artifact: draft.name, method, args, ...said, meant: meant ?? null, context: seen }, 2),
    );
  }

  async function print({ answer, meant }: ArtifactTested): Promise<void> {
    const { green, red, dim, cyan } = paletteFor(answer.ok ? io.stdout : io.stderr);
    const call = `${draft.name}.${method}(${args.map((arg) => brief(arg, MAX_SHOWN)).join(', ')})`;
    const took = dim(`(${spanText(answer.ms)})`);
    if (!answer.ok) {
      const why = `${red('failed')}: ${answer.reason}: ${harmlessLine(answer.message)} ${took}`;
      const then = `  ${cyan('→')} In a run, its fallback would be used.`;
      await io.stderr.write(`${why}\n  ${dim(call)}\n${then}\n`);
      return;
    }
    const lines = [`${green('✓')} ${call} = ${brief(answer.value, MAX_SHOWN)} ${took}`];
    if (meant === undefined) lines.push('  It says that it failed. In a run, its fallback would be used.');
    else if (JSON.stringify(meant) !== JSON.stringify(answer.value))
      lines.push(`  It stands for ${brief(meant, MAX_SHOWN)}.`);
    await io.stdout.write(`${lines.join('\n')}\n`);
  }
}

async function readArgs(given: string, io: CommandContext['io']): Promise<readonly Json[]> {
  const args = await readJson('--args', given, io, '[3, "text"]');
  return Array.isArray(args) ? args : [args as Json | JsonObject];
}

/** Refuses a key that no run's context has, because the artifact would see it only here. */
function refuseUnknown(given: readonly string[], known: readonly string[]): void {
  const wrong = given.find((key) => !known.includes(key));
  if (wrong !== undefined) throw usage(`A context has no key '${wrong}'.`, suggest(wrong, known, 'It has'));
}

function methodOf({ name, methods, source }: ArtifactDraft, asked: string | undefined, file: string): string {
  const [only, other] = methods;
  if (asked !== undefined) {
    if (methods.length > 0 && !methods.includes(asked))
      throw new RuntimeError('usage', `The artifact "${name}" has no method '${asked}'.`, {
        hint: suggest(asked, methods, 'Its methods'),
      });
    return asked;
  }
  if (only === undefined && !isSource(file))
    throw usage(
      `The artifact "${name}" has no methods. It is the text of a prompt, ${countText(source.length, 'character')} long.`,
      'A step uses it with "prompt_artifact_id". If it is code, list its functions under "methods".',
    );
  if (only === undefined)
    throw usage('Which method should be called?', `Name it: telltale artifact test ${file} METHOD`);
  if (other !== undefined)
    throw usage(`The artifact "${name}" has ${methods.length} methods.`, `Name one: ${methods.join(', ')}.`);
  return only;
}

export interface ReadArtifact {
  readonly draft: ArtifactDraft;
  /** The other artifacts of the project, which it may call. */
  readonly others: Pick<Artifacts, 'read'>;
}

const SCRIPT = /\.[cm]?js$/i;

/** Whether a file contains only source, which does not declare its methods. */
const isSource = (path: string): boolean => SCRIPT.test(path);

/**
 * Reads the artifact of a file: a manifest, or only its source, or a genesis artifact by its name. If the manifest is
 * invalid, prints every mistake as `telltale validate` does and returns undefined.
 */
async function readArtifact(
  path: string,
  name: string | undefined,
  io: Io,
  options: { readonly json?: true },
): Promise<ReadArtifact | undefined> {
  const builtIn = GENESIS.get(path);
  if (builtIn !== undefined) return { draft: builtIn, others: { read: async () => undefined } };
  if (isSource(path)) {
    const source = await readFile(resolve(io.cwd, path), 'utf8').catch((cause) => {
      throw unreadable(path, cause);
    });
    return {
      draft: { name: name ?? basename(path).replace(SCRIPT, ''), source, methods: [] },
      others: { read: async () => undefined },
    };
  }
  const checked = await checkedManifests(path, io, options);
  if (checked === undefined) return undefined;
  const drafts: ArtifactDraft[] = [];
  for (const loaded of checked.projects.flatMap(({ manifests }) => manifests)) {
    const draft = await readDraft(loaded);
    if (draft !== undefined) drafts.push(draft);
  }
  return { draft: chosen(drafts, path, name), others: { read: async (asked) => versionOf(asked, drafts) } };
}

function chosen(drafts: readonly ArtifactDraft[], path: string, name: string | undefined): ArtifactDraft {
  const names = drafts.map((draft) => draft.name);
  if (name !== undefined) {
    const named = drafts.find((draft) => draft.name === name);
    if (named === undefined)
      throw usage(`'${path}' contains no artifact '${name}'.`, suggest(name, names, 'Artifacts in it'));
    return named;
  }
  const [only, other] = drafts;
  if (only === undefined)
    throw usage(
      `'${path}' contains no Artifact.`,
      'Name a file that contains "kind: Artifact", or a .js file.',
    );
  if (other !== undefined)
    throw usage(
      `'${path}' holds ${drafts.length} artifacts.`,
      `Choose one: --name ${names.join(', or --name ')}.`,
    );
  return only;
}

function versionOf(asked: string, drafts: readonly ArtifactDraft[]): ArtifactVersion | undefined {
  const draft = drafts.find(({ name }) => name === asked);
  return draft === undefined
    ? undefined
    : { ...draft, version: 1, language: 'js', author: 'manifest', at: 0 };
}

const unreadable = (path: string, cause: NodeJS.ErrnoException) =>
  cause.code === 'ENOENT'
    ? usage(`There is no file '${path}'.`, "Name an artifact's manifest or its source.")
    : new RuntimeError('cannot_read', `'${path}' cannot be read (${cause.code ?? cause.message}).`, {
        hint: 'Check that it is a file that you may read.',
        cause,
      });
