import { deepEqual } from '../../expressions/values.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Json } from '../../lib/json.ts';
import type { Tables } from '../../store/store.ts';
import {
  type ArtifactDraft,
  type Artifacts,
  type ArtifactVersion,
  artifactUnknown,
  badArtifactName,
  GENESIS,
  genesisFixed,
  isGenesis,
  tooManyVersions,
  versionUnknown,
  writtenMeanwhile,
} from './artifacts.ts';

/** Tables: the newest version number by name, and each version by name and number. */
const HEADS = 'artifact.heads';
const VERSIONS = 'artifact.versions';
const DIGITS = 6;
const MAX_VERSIONS = 10 ** DIGITS - 1;
/** How often a write is retried while others write the same artifact. */
const MAX_TRIES = 20;
/** The most versions cached in memory. They never change. */
const MAX_CACHED = 500;
const NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,127}$/;

export interface ArtifactsDeps {
  readonly tables: Tables;
  readonly clock: Pick<Clock, 'now'>;
  /** Rejects with what is wrong with a source that someone wants to write. */
  readonly check: (draft: ArtifactDraft) => Promise<void>;
}

type Content = Omit<ArtifactVersion, 'version' | 'parent' | 'at'>;

/** Artifacts in the tables of a store. Writes are atomic across processes: two at the same time make two versions. */
export function createArtifacts({ tables, clock, check }: ArtifactsDeps): Artifacts {
  const kept = new Map<string, ArtifactVersion>();

  const newest = async (name: string): Promise<number> => ((await tables.get(HEADS, name)) as number) ?? 0;
  const load = async (name: string, version: number): Promise<ArtifactVersion | undefined> => {
    const key = keyOf(name, version);
    const known = kept.get(key);
    if (known !== undefined) return known;
    const found = (await tables.get(VERSIONS, key)) as ArtifactVersion | undefined;
    if (found === undefined) return undefined;
    const [oldest] = kept.keys();
    if (kept.size >= MAX_CACHED && oldest !== undefined) kept.delete(oldest);
    kept.set(key, found);
    return found;
  };
  const read = async (name: string, version?: number): Promise<ArtifactVersion | undefined> => {
    const own = GENESIS.get(name);
    if (own !== undefined) return version === undefined || version === own.version ? own : undefined;
    const wanted = version ?? (await newest(name));
    return wanted < 1 || wanted > MAX_VERSIONS ? undefined : load(name, wanted);
  };
  const names = async (): Promise<readonly string[]> => [...GENESIS.keys(), ...(await tables.keys(HEADS))];

  /** Appends a version. Undefined if `from` finds nothing to write. */
  const add = async (
    name: string,
    from: (before: ArtifactVersion | undefined) => Content | undefined | Promise<Content | undefined>,
  ): Promise<ArtifactVersion | undefined> => {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const head = await newest(name);
      const content = await from(head === 0 ? undefined : await load(name, head));
      if (content === undefined) return undefined;
      if (head >= MAX_VERSIONS) throw tooManyVersions(name, MAX_VERSIONS);
      const version = head + 1;
      const made = { ...content, version, ...(head === 0 ? {} : { parent: head }), at: clock.now() };
      const isMade = await tables.exchange(
        [{ table: HEADS, key: name, value: head === 0 ? undefined : head }],
        [
          { table: HEADS, key: name, value: version },
          { table: VERSIONS, key: keyOf(name, version), value: made as unknown as Json },
        ],
      );
      if (isMade) return made;
    }
    throw writtenMeanwhile(name);
  };
  const assertWritable = (name: string) => {
    if (isGenesis(name)) throw genesisFixed(name);
    if (!NAME.test(name)) throw badArtifactName(name);
  };

  /** Whether a manifest had this content in any version up to that one. */
  const wasInManifest = async (content: Content, { version: head }: ArtifactVersion): Promise<boolean> => {
    for (let version = head; version > 0; version--) {
      const before = await load(content.name, version);
      if (before?.author === MANIFEST_AUTHOR && sameContent(before, content)) return true;
    }
    return false;
  };

  return {
    read,
    names,
    async versions(name) {
      const own = GENESIS.get(name);
      if (own !== undefined) return [own];
      const all: ArtifactVersion[] = [];
      const head = await newest(name);
      for (let version = 1; version <= head; version++) {
        const found = await load(name, version);
        if (found !== undefined) all.push(found);
      }
      return all;
    },
    async write(draft, author) {
      assertWritable(draft.name);
      await check(draft);
      return (await add(draft.name, () => contentOf(draft, author))) as ArtifactVersion;
    },
    async rollback(name, to, author) {
      assertWritable(name);
      const old = await read(name, to);
      if (old === undefined) {
        const head = await newest(name);
        throw head === 0 ? artifactUnknown(name, await names()) : versionUnknown(name, to, head);
      }
      return (await add(name, () => ({ ...contentOf(old, author), restores: to }))) as ArtifactVersion;
    },
    async seed(draft) {
      assertWritable(draft.name);
      const content = contentOf(draft, MANIFEST_AUTHOR);
      await add(draft.name, async (before) => {
        if (before === undefined) return content;
        if (before.author === MANIFEST_AUTHOR) return sameContent(before, content) ? undefined : content;
        const isNews = (await cameFromManifest(before, load)) && !(await wasInManifest(content, before));
        return isNews ? content : undefined;
      });
    },
  };
}

const keyOf = (name: string, version: number): string => `${name} ${String(version).padStart(DIGITS, '0')}`;

const contentOf = ({ name, source, methods, description }: ArtifactDraft, author: string): Content => ({
  name,
  language: 'js',
  source,
  methods,
  ...(description === undefined ? {} : { description }),
  author,
});

/** The author of versions that come from a manifest. */
const MANIFEST_AUTHOR = 'manifest';

type ArtifactsLoad = (name: string, version: number) => Promise<ArtifactVersion | undefined>;

/** Whether a version came from a manifest, directly or by restoring one that did. */
async function cameFromManifest(version: ArtifactVersion, load: ArtifactsLoad): Promise<boolean> {
  let at: ArtifactVersion | undefined = version;
  while (at?.restores !== undefined) at = await load(at.name, at.restores);
  return at?.author === MANIFEST_AUTHOR;
}

const sameContent = (
  before: ArtifactVersion,
  { source, methods, description }: Omit<ArtifactDraft, 'name'>,
): boolean =>
  before.source === source && before.description === description && deepEqual(before.methods, methods);

/** An edit of a manifest's artifact that has no effect, because someone else's version is in force. */
export interface UnusedEdit {
  readonly current: ArtifactVersion;
  /** The newest version that came from a manifest. Rolling back to it makes the manifest count again. */
  readonly manifestVersion?: number;
}

/** The most versions searched, newest first. The first version is always included. */
const MAX_VERSIONS_SEARCHED = 200;

/**
 * Whether a manifest's artifact was edited without effect: `seed` ignores it, and no earlier manifest had the same
 * content. An unchanged manifest is no edit, whatever others have made of the artifact.
 */
export async function findUnusedEdit(
  artifacts: Pick<Artifacts, 'read'>,
  draft: ArtifactDraft,
): Promise<UnusedEdit | undefined> {
  const { name } = draft;
  const inForce = await artifacts.read(name);
  if (inForce === undefined || sameContent(inForce, draft)) return undefined;
  if (await cameFromManifest(inForce, artifacts.read)) return undefined;
  let ofManifest: number | undefined;
  const last = Math.max(2, inForce.version - MAX_VERSIONS_SEARCHED);
  for (let at = inForce.version; at > 0; at = at > last ? at - 1 : at > 1 ? 1 : 0) {
    const version = await artifacts.read(name, at);
    if (version?.author !== MANIFEST_AUTHOR) continue;
    if (sameContent(version, draft)) return undefined;
    ofManifest ??= at;
  }
  return { current: inForce, ...(ofManifest === undefined ? {} : { manifestVersion: ofManifest }) };
}
