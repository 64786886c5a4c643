import { referencesInParameters } from '../../expressions/references/resolve-references.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { portOf } from '../../manifest/permission-rules.ts';
import { needForUrl } from '../../tools/access/approval-need.ts';
import type { Target, TargetKind } from '../../tools/target.ts';
import { unknownTarget } from '../../tools/target-deps.ts';
import type { Feed } from '../feed.ts';
import { checkFileParams, permitted } from './file-source.ts';
import { checkHttpParams, isSafeRequest } from './http-source.ts';
import { checkInternalParams, environmentOf } from './internal-source.ts';
import { resourceOf } from './load-source.ts';
import { checkRepoParams } from './repo/repo-source.ts';
import { badParams, mayChange, needsApproval, type SourceDeps } from './source.ts';
import { feedCall, mustNotAsk, mustOnlyRead } from './target-source.ts';

/** What a model adds is loaded no more often than this. */
const LEAST_INTERVAL_MS = 5_000;
const MAX_TRANSFORMATIONS = 16;

/**
 * Why a model may not add this feed; undefined if it may. It may use what the agent's actions could use without asking
 * anybody, and of that only what changes nothing. Params may still hold `$references`: with what these come to, each
 * load is checked again.
 */
export async function mayAdd(feed: Feed, deps: SourceDeps): Promise<RuntimeError | undefined> {
  try {
    checkShape(feed);
    await checkSource(feed, deps);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof RuntimeError) return thrown;
    throw thrown;
  }
}

function checkShape({ id, interval, transform }: Feed): void {
  if (interval !== undefined && interval.ms < LEAST_INTERVAL_MS)
    throw badParams(
      `feed "${id}"`,
      `its interval is ${interval.ms} ms.`,
      `Give it ${LEAST_INTERVAL_MS / 1000} s or more.`,
    );
  if (transform.length > MAX_TRANSFORMATIONS)
    throw badParams(
      `feed "${id}"`,
      `it has ${transform.length} transformations.`,
      `${MAX_TRANSFORMATIONS} at the most.`,
    );
}

async function checkSource({ id, source }: Feed, deps: SourceDeps): Promise<void> {
  const what = `feed "${id}"`;
  const { permissions } = deps.targets.deps;
  const { params } = source;
  switch (source.type) {
    case 'internal':
      mustFit(params, (given) => checkInternalParams(source.action, given));
      if (source.action === 'env') environmentOf(params, permissions.environment, {});
      return;
    case 'tool':
    case 'relic':
    case 'llm': {
      const { target, input } = feedCall(source, params, deps, true);
      mustFit(params, () => target.check(input));
      mustOnlyRead(what, target, input);
      return mustNotAsk(what, target, input, deps);
    }
    case 'workflow':
      mustHave('workflow', source.name, deps);
      throw mayChange(what, `workflow "${source.name}"`); // none says of itself that it only reads
    case 'agent':
      return mustHave('agent', source.name, deps);
    case 'metadata':
      return;
    case 'file':
    case 'repo':
      mustFit(params, source.type === 'file' ? checkFileParams : checkRepoParams);
      await permitted(source.name, what, deps);
      return;
    case 'http': {
      mustFit(params, checkHttpParams);
      if (!isSafeRequest(params)) throw mayChange(what, `${source.name} (${String(params.method)})`);
      const need = needForUrl(permissions.hosts, 'GET', source.name, what);
      if (need !== undefined) throw needsApproval(what, need.what, need.because);
      const url = URL.canParse(source.name) ? new URL(source.name) : undefined;
      if (url !== undefined) permissions.hosts.check(url.hostname, portOf(url));
      return;
    }
    case 'mcp':
      resourceOf(source, params, deps.targets.deps);
      return;
  }
}

/** Agents and workflows are the session's to run: here it matters that the agent may call them. */
function mustHave(kind: Extract<TargetKind, 'workflow' | 'agent'>, name: string, deps: SourceDeps): void {
  if (deps.targets.find(kind, name) === undefined) throw unknownTarget(kind, name, deps.targets);
}

/** What holds references is checked with what they come to. */
function mustFit(params: JsonObject, check: Target['check']): void {
  const wrong = referencesInParameters(params).length > 0 ? undefined : check(params);
  if (wrong !== undefined) throw wrong;
}
