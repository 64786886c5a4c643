import type { IconName } from '../ui/icon-shapes.ts';

export interface NavItem {
  readonly path: string;
  readonly label: string;
  readonly icon: IconName;
  /** `g` and then this key lead there. */
  readonly key: string;
  /** Whether it stands in the bar of a narrow screen, or behind "More". */
  readonly main: boolean;
}

export const NAV_ITEMS: readonly NavItem[] = [
  { path: '/sessions', label: 'Sessions', icon: 'sessions', key: 's', main: true },
  { path: '/reviews', label: 'Reviews', icon: 'reviews', key: 'r', main: true },
  { path: '/workflows', label: 'Workflows', icon: 'workflows', key: 'w', main: true },
  { path: '/agents', label: 'Agents', icon: 'agents', key: 'a', main: true },
  { path: '/artifacts', label: 'Artifacts', icon: 'artifacts', key: 'f', main: false },
  { path: '/memory', label: 'Memory', icon: 'memory', key: 'm', main: false },
  { path: '/activity', label: 'Activity', icon: 'activity', key: 'v', main: false },
];

/** Runs are parts of workflows: their pages belong to that item. */
const HOMES: Readonly<Record<string, string>> = { '/runs': '/workflows', '/start': '/sessions' };

/** The path of the item that a location belongs to. */
export function homeOf(location: string): string {
  const top = `/${location.split('/')[1] ?? ''}`;
  return HOMES[top] ?? top;
}
