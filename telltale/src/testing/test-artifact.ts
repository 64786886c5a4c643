import type { DefinedArtifact } from '../agent/define/definitions.ts';
import { createSystemClock } from '../lib/clock.ts';
import { RuntimeError } from '../lib/errors.ts';
import type { Json } from '../lib/json.ts';
import { formatDiagnostic } from '../manifest/format-diagnostic.ts';
import type { ArtifactManifest } from '../manifest/schema/kinds.ts';
import type { ArtifactVersion, DecisionContext } from '../tools/artifacts/artifacts.ts';
import type { ArtifactTested } from '../tools/artifacts/test-artifact.ts';

export interface TestArtifactOptions {
  readonly method: string;
  readonly args?: readonly Json[];
  /** In place of what the context says by default. */
  readonly context?: Partial<DecisionContext>;
  /** Of its `Math.random`: the same gives the same answer. */
  readonly seed?: string;
  /** What it may ask beside the genesis artifacts. */
  readonly others?: readonly DefinedArtifact[];
}

/** Its 100 ms are those of the wall: on a busy machine a method that is quick may take them. Asked again, it says the same. */
const MAX_TRIES = 5;

/**
 * Asks an artifact in the sandbox, as a run would. That a method throws or answers with nonsense is data: `answer.ok` is
 * false. Rejects with what is wrong with the artifact, where no store would keep it.
 */
export async function testArtifact(
  artifact: DefinedArtifact,
  { others = [], ...test }: TestArtifactOptions,
): Promise<ArtifactTested> {
  const [{ createSandbox }, { testArtifact: ask }, { createDraftCheck }] = await Promise.all([
    import('../tools/sandbox/create-sandbox.ts'),
    import('../tools/artifacts/test-artifact.ts'),
    import('../tools/artifacts/open-artifacts.ts'),
  ]);
  const own = await versionOf(artifact);
  const { name, source } = own;
  const beside = new Map<string, ArtifactVersion>();
  for (const other of others) beside.set(other.name, await versionOf(other));
  const clock = createSystemClock();
  const sandbox = createSandbox({ clock });
  try {
    // As every store does before it keeps one. And whoever is asked next does not pay for the engine's start.
    await createDraftCheck(sandbox)(own);
    for (let tries = 1; ; tries++) {
      const tested = await ask(
        { ...test, name, source, others: { read: async (asked) => beside.get(asked) } },
        { sandbox, clock },
      );
      if (tested.answer.ok || tested.answer.reason !== 'timeout' || tries === MAX_TRIES) return tested;
    }
  } finally {
    await sandbox.close();
  }
}

/** As a store would have it. */
async function versionOf(artifact: DefinedArtifact): Promise<ArtifactVersion> {
  const [{ artifactManifest }, { readCode }] = await Promise.all([
    import('../agent/define/artifact-manifest.ts'),
    import('../manifest/project/read-code.ts'),
  ]);
  const written = artifactManifest(artifact, '.');
  const { documents, diagnostics } = readCode(written, written.label);
  const manifest = documents[0]?.manifest as ArtifactManifest | undefined;
  if (manifest === undefined)
    throw new RuntimeError(
      'bad_manifest',
      `${written.label} is wrong:\n${diagnostics.map((each) => formatDiagnostic(each)).join('\n')}`,
    );
  const { name, source = '', methods } = manifest;
  return {
    name,
    version: 1,
    language: 'js',
    source,
    methods: Object.keys(methods ?? {}),
    author: 'manifest',
    at: 0,
  };
}
