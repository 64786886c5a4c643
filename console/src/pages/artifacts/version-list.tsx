import type { ArtifactInfo } from '../../../../telltale/src/client/api.ts';
import { cx } from '../../ui/class-names.ts';
import { Panel } from '../../ui/panel.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { authorWords, isBuiltIn } from './author-words.ts';

export interface VersionListProps {
  /** Newest first. */
  readonly versions: readonly ArtifactInfo[];
  readonly chosen: number;
  readonly onChoose: (version: number) => void;
}

/** All versions: who wrote each, when, and from what. */
export const VersionList = ({ versions, chosen, onChoose }: VersionListProps) => (
  <Panel title="Versions" bodyClassName="max-h-64 overflow-y-auto lg:max-h-[70vh]">
    <ul className="divide-y divide-line">
      {versions.map((one, at) => (
        <li key={one.version}>
          <button
            type="button"
            aria-current={one.version === chosen ? 'true' : undefined}
            onClick={() => onChoose(one.version)}
            className={cx(
              'block w-full border-l-2 px-3 py-2 text-left -outline-offset-2',
              one.version === chosen ? 'border-accent bg-accent-soft' : 'border-transparent hover:bg-hover',
            )}
          >
            <span className="flex items-baseline gap-2">
              <span className="font-semibold">Version {one.version}</span>
              {at === 0 ? <span className="text-small text-done">in force</span> : null}
              <span className="ml-auto text-small text-ink-faint">
                {isBuiltIn(one) ? null : <RelativeTime at={one.at} />}
              </span>
            </span>
            <span className="block truncate text-small text-ink-soft">
              {isBuiltIn(one) ? 'built in' : `by ${authorWords(one.author)}`}
            </span>
            {one.restores === undefined && one.parent === undefined ? null : (
              <span className="block text-small text-ink-faint">
                {one.restores === undefined ? `made from ${one.parent}` : `puts version ${one.restores} back`}
              </span>
            )}
          </button>
        </li>
      ))}
    </ul>
  </Panel>
);
