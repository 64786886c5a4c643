import type { Clock } from '../../kernel/clock.ts';
import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Store } from '../../store/store.ts';
import type { Artifacts, ArtifactVersion } from '../../targets/artifacts/artifacts.ts';
import { createArtifacts } from '../../targets/artifacts/create-artifacts.ts';

/** The artifacts of a store for who only looks or puts old versions back: those were checked when they were written. */
export const storedArtifacts = (store: Pick<Store, 'tables'>, clock: Pick<Clock, 'now'>): Artifacts =>
  createArtifacts({ tables: store.tables, clock, check: async () => undefined });

/** A version of an artifact, the newest by default. */
export async function findVersion(
  artifacts: Artifacts,
  name: string,
  version?: number,
): Promise<ArtifactVersion> {
  const found = await artifacts.read(name, version);
  if (found !== undefined) return found;
  const newest = version === undefined ? undefined : await artifacts.read(name);
  if (newest !== undefined) throw versionUnknown(name, version ?? 0, newest.version);
  throw artifactUnknown(name, await artifacts.names());
}

const artifactUnknown = (name: string, known: readonly string[]) =>
  new RuntimeError('artifact_unknown', `There is no artifact '${name}' in this store.`, {
    hint: `${suggest(name, known, 'Artifacts')} An artifact of a manifest is added when its agent first runs.`,
  });

const versionUnknown = (name: string, version: number, newest: number) =>
  new RuntimeError('version_unknown', `The artifact "${name}" has no version '${version}'.`, {
    hint: `Its newest is ${newest}: telltale artifact show ${name}`,
  });
