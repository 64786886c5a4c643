import type { IconName } from '../ui/icon-shapes.ts';

export interface NavItem {
  readonly path: string;
  readonly label: string;
  readonly icon: IconName;
  /** `g` and then this key opens it. */
  readonly key: string;
  /** Whether it is in the bottom bar of a narrow screen. The others are behind "More". */
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

/** Runs are parts of workflows, so their pages belong to that item. */
const HOMES: Readonly<Record<string, string>> = { '/runs': '/workflows', '/start': '/sessions' };

/** The navigation item of a location. */
export function homeOf(location: string): string {
  const top = `/${location.split('/')[1] ?? ''}`;
  return HOMES[top] ?? top;
}
