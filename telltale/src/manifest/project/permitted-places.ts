import { dirname, resolve } from 'node:path';
import { isInside } from '../files/project-root.ts';
import { type Decision, decide, readRules } from '../permissions/decide.ts';
import { bareHost, namesHost, portOf, readHostEntry } from '../permissions/host-entry.ts';
import type { Rules } from '../schema/permissions.ts';
import type { ProjectDocument } from './project-document.ts';

/** The host of an address that no parameter has a part in, with its port if it names one; undefined where one has. */
export function hostIn(url: string | undefined): URL | undefined {
  const origin = /^https?:\/\/[^/?#]*/i.exec(url ?? '')?.[0];
  if (origin === undefined || /[{}$@]/.test(origin)) return undefined;
  return URL.parse(origin) ?? undefined;
}

/** As a request to it would be judged. */
export function hostDecision(url: URL, network: Rules): Decision {
  const [host, port] = [bareHost(url.hostname), portOf(url)];
  return decide(readRules(network, readHostEntry), (entry) => namesHost(entry, host, port)).decision;
}

/** Whether a place that only the manifest names lies in what is permitted; wildcards are given the benefit of doubt. */
export function isPermitted(
  path: string | undefined,
  agent: ProjectDocument,
  { allow, ask, deny }: Rules,
): boolean {
  if (path === undefined || /[{}$]/.test(path)) return true;
  const folder = dirname(agent.file);
  const place = resolve(folder, path);
  const isWild = (entry: string) => /[*?]/.test(entry);
  const holds = (entry: string) => isInside(place, resolve(folder, entry));
  if (deny.some((entry) => !isWild(entry) && holds(entry))) return false;
  return [...allow, ...ask].some((entry) => isWild(entry) || holds(entry));
}
