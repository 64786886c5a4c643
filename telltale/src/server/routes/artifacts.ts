import { type OpenAPIHono, z } from '@hono/zod-openapi';
import type { ArtifactInfo, ArtifactSource, ArtifactTestResult } from '../../client/api.ts';
import type { Artifacts, ArtifactVersion, DecisionContext } from '../../tools/artifacts/artifacts.ts';
import { artifactUnknown, versionUnknown } from '../../tools/artifacts/artifacts.ts';
import type { ArtifactTested } from '../../tools/artifacts/test-artifact.ts';
import type { AppEnv, ServerDeps } from '../server-edges.ts';
import { addOperation, pageOf, pageQuery, textPlace } from './operation.ts';
import {
  artifactPage,
  artifactSource,
  artifactTested,
  artifactVersions,
  rollbackArtifact,
  testArtifact,
  writeArtifact,
} from './schemas/daemon.ts';

const tag = 'artifacts';
const byName = z.object({ name: z.string() });

/** Decision artifacts: list them, read their versions, write new ones, and test them. */
export function mountArtifacts(app: OpenAPIHono<AppEnv>, { runtime }: ServerDeps): void {
  addOperation(
    app,
    {
      method: 'get',
      path: '/artifacts',
      id: 'artifacts',
      tag,
      role: 'read',
      answer: artifactPage,
      summary: 'Artifacts by name, the newest version of each',
      query: z.object(pageQuery),
    },
    async ({ query }) => {
      const artifacts = await runtime.artifacts();
      return pageOf(
        query,
        textPlace,
        async (behind, limit) => {
          const names = (await artifacts.names()).toSorted();
          const part = names.filter((name) => behind === undefined || name > behind[0]).slice(0, limit);
          const found = await Promise.all(part.map((name) => artifacts.read(name)));
          return found.flatMap((version) => (version === undefined ? [] : [infoOf(version)]));
        },
        ({ name }) => [name] as [string],
      );
    },
  );

  addOperation(
    app,
    {
      method: 'get',
      path: '/artifacts/{name}',
      id: 'artifact',
      tag,
      role: 'read',
      summary: 'All versions of an artifact, newest first',
      params: byName,
      answer: artifactVersions,
    },
    async ({ params: { name } }) => {
      const artifacts = await runtime.artifacts();
      const versions = await artifacts.versions(name);
      if (versions.length === 0) throw artifactUnknown(name, await artifacts.names());
      return { items: versions.toReversed().map(sourceOf) };
    },
  );

  addOperation(
    app,
    {
      method: 'put',
      path: '/artifacts/{name}',
      id: 'writeArtifact',
      tag,
      role: 'admin',
      summary: 'A new version of an artifact',
      description: 'It is loaded once in the sandbox before it is stored. The old versions stay.',
      params: byName,
      body: writeArtifact,
      answer: artifactSource,
    },
    async ({ c, caller, params: { name }, body }) => {
      c.set('about', name);
      const artifacts = await runtime.artifacts();
      return sourceOf(await artifacts.write({ name, ...body }, caller.by));
    },
  );

  addOperation(
    app,
    {
      method: 'post',
      path: '/artifacts/{name}/rollback',
      id: 'rollbackArtifact',
      tag,
      role: 'admin',
      summary: 'Restore an old version, as a new one',
      params: byName,
      body: rollbackArtifact,
      answer: artifactSource,
    },
    async ({ c, caller, params: { name }, body: { to } }) => {
      c.set('about', name);
      const artifacts = await runtime.artifacts();
      return sourceOf(await artifacts.rollback(name, to, caller.by));
    },
  );

  addOperation(
    app,
    {
      method: 'post',
      path: '/artifacts/{name}/test',
      id: 'testArtifact',
      tag,
      role: 'run',
      summary: 'Ask an artifact, or a draft of it, as a run would',
      description: 'Nothing is stored or logged.',
      params: byName,
      body: testArtifact,
      answer: artifactTested,
    },
    async ({ c, params: { name }, body }) => {
      const { method, args, context, seed, version } = body;
      const { source, methods } =
        body.source === undefined
          ? await versionOf(await runtime.artifacts(), name, version)
          : { source: body.source };
      const tested = await runtime.testArtifact({
        source,
        method,
        name,
        signal: c.req.raw.signal,
        ...(methods === undefined ? {} : { methods }),
        ...(args === undefined ? {} : { args }),
        ...(context === undefined ? {} : { context: context as Partial<DecisionContext> }),
        ...(seed === undefined ? {} : { seed }),
      });
      return testedOf(tested);
    },
  );
}

async function versionOf(artifacts: Artifacts, name: string, version?: number): Promise<ArtifactVersion> {
  const found = await artifacts.read(name, version);
  if (found !== undefined) return found;
  const newest = await artifacts.read(name);
  throw version === undefined || newest === undefined
    ? artifactUnknown(name, await artifacts.names())
    : versionUnknown(name, version, newest.version);
}

function infoOf({ language: _, source: __, ...info }: ArtifactVersion): ArtifactInfo {
  return info;
}

function sourceOf({ language: _, ...version }: ArtifactVersion): ArtifactSource {
  return version;
}

function testedOf({ answer, meant, context }: ArtifactTested): ArtifactTestResult {
  return {
    ok: answer.ok,
    ms: answer.ms,
    context,
    ...(answer.ok ? { value: answer.value } : { reason: answer.reason, message: answer.message }),
    ...(meant === undefined ? {} : { meant }),
  };
}
