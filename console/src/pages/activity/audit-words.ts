import type { AuditEntry } from '../../../../telltale/src/client/api.ts';
import { artifactPath, runPath, sessionPath } from '../workflows/paths.ts';

const WORDS: readonly (readonly [RegExp, string])[] = [
  [/^POST \/sessions$/, 'started a session'],
  [/^POST \/sessions\/[^/]+\/steer$/, 'steered a session'],
  [/^POST \/sessions\/[^/]+\/(?:say|messages?)$/, 'wrote to a session'],
  [/^POST \/sessions\/[^/]+\/cancel$/, 'cancelled a session'],
  [/^POST \/sessions\/[^/]+\/resume$/, 'resumed a session'],
  [/^POST \/sessions\/[^/]+\/fork$/, 'forked a session'],
  [/^POST \/runs$/, 'started a workflow'],
  [/^POST \/runs\/[^/]+\/cancel$/, 'cancelled a run'],
  [/^POST \/runs\/[^/]+\/resume$/, 'resumed a run'],
  [/^POST \/runs\/[^/]+\/signal$/, 'sent a signal to a run'],
  [/^POST \/reviews\/[^/]+(?:\/answer)?$/, 'answered a review'],
  [/^PUT \/artifacts\//, 'wrote a version of an artifact'],
  [/^POST \/artifacts\/[^/]+\/rollback$/, 'rolled an artifact back'],
  [/^POST \/artifacts\/[^/]+\/test$/, 'tested an artifact'],
  [/^POST \/agents\/reload$/, 'reloaded the manifests'],
  [/^POST \/notifications\/[^/]+\/retry$/, 'resent a notification'],
  [/^POST \/fleet\/[^/]+\/retry$/, 'retried something quarantined'],
  [/^POST \/tokens$/, 'created a token'],
  [/^DELETE \/tokens\//, 'revoked a token'],
  [/^POST \/memory\/query$/, 'asked a knowledge graph'],
  [/^POST \/hooks\//, 'called a hook'],
];

/** A request in words, or the request itself if there are none for it. */
export const auditWords = (what: string): string =>
  WORDS.find(([pattern]) => pattern.test(what))?.[1] ?? what;

/** The page of the session, run or other thing that the entry is about. */
export function auditPath({ what, about }: Pick<AuditEntry, 'what' | 'about'>): string | undefined {
  if (about === undefined) return undefined;
  const [, home] = /^\w+ \/(\w+)/.exec(what) ?? [];
  switch (home) {
    case 'sessions':
      return sessionPath(about);
    case 'runs':
      return runPath(about);
    case 'reviews':
      return `/reviews/${encodeURIComponent(about)}`;
    case 'artifacts':
      return artifactPath(about);
    default:
      return undefined;
  }
}
