import { hasFeeds } from '../internal/definition.ts';
import { openFeeds, openFresh } from '../optional-parts.ts';
import { lookupOwn, runsOf, type SessionServices } from '../session-works.ts';
import type { SessionFeeds } from './session-feeds.ts';

/** Opens what a session updates before each turn: feeds of its manifest and of its log, and memory. */
export async function openFreshParts(works: SessionServices): Promise<void> {
  const { manifest } = works.deps.prepared.agent;
  if (needsFeeds(works)) await feedsOf(works);
  else if (manifest.context_feeds.length > 0 || works.memory !== undefined) await openFreshOf(works);
}

/**
 * The feeds of a session. Without declared feeds they are opened when the model first calls an action on
 * feeds.
 */
export function feedsOf(works: SessionServices): Promise<SessionFeeds> {
  works.feedsOpening ??= open(works);
  return works.feedsOpening;
}

/** Also true for feeds on the log that the model added in an earlier process. */
function needsFeeds({ state, deps }: SessionServices): boolean {
  const { manifest } = deps.prepared.agent;
  if (hasFeeds(manifest)) return true;
  return (
    manifest.internal_actions.enabled &&
    [...state.feeds.values()].some(({ definition }) => definition !== undefined)
  );
}

async function open(works: SessionServices): Promise<SessionFeeds> {
  const feeds = await openFeeds(works.deps, {
    view: () => works.view(),
    testContext: () => works.context(),
    lookup: (name) => lookupOwn(works, name),
    runWorkflow: runsOf(works).feed,
    isGuarded: () => works.before !== undefined,
  });
  works.feeds = feeds;
  works.fetch = feeds.keeper.fetch;
  await openFreshOf(works);
  return feeds;
}

async function openFreshOf(works: SessionServices): Promise<void> {
  const { deps, log, feeds, memory } = works;
  works.fresh = await openFresh({
    log,
    feeds,
    memory,
    manifest: deps.prepared.agent.manifest,
    testContext: () => works.context(),
    origin: () => deps.origin,
  });
}
