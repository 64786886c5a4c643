import { Link } from 'wouter';
import type { ArtifactInfo } from '../../../../telltale/src/client/api.ts';
import { useKept } from '../../data/use-kept.ts';
import { usePaged } from '../../data/use-paged.ts';
import { Page } from '../../shell/page.tsx';
import { Button } from '../../ui/button.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Panel } from '../../ui/panel.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { SearchField } from '../../ui/search-field.tsx';
import { artifactPath } from '../workflows/paths.ts';
import { authorWords, isBuiltIn } from './author-words.ts';

const PAGE = 200;

/** The newest version of each artifact. */
export function ArtifactsPage() {
  const list = usePaged('artifacts', (client, cursor, signal) =>
    client.artifacts({ limit: PAGE, ...(cursor === undefined ? {} : { cursor }) }, { signal }),
  );
  const [search, setSearch] = useKept('artifacts.search', '');
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = list.items.filter(({ name, description, methods }) =>
    words.every((word) => `${name} ${description ?? ''} ${methods.join(' ')}`.toLowerCase().includes(word)),
  );
  const own = found.filter((one) => !isBuiltIn(one));
  const builtIn = found.filter(isBuiltIn);
  return (
    <Page
      title="Artifacts"
      actions={
        <Button icon="refresh" busy={list.reading} onClick={list.reload}>
          Refresh
        </Button>
      }
    >
      <p className="max-w-3xl text-ink-soft">
        An artifact is a decision written as code. Workflows and triggers call it. People and agents can
        change it at any time, and every version is kept.
      </p>
      {list.error === undefined ? null : (
        <ErrorState title="The artifacts could not be read." error={list.error} onRetry={list.reload} />
      )}
      {list.kind === 'loading' ? (
        <Loading label="Reading the artifacts" rows={6} />
      ) : list.kind === 'failed' ? null : (
        <>
          <div className="flex">
            <SearchField label="Search artifacts" value={search} onChange={setSearch} />
          </div>
          {own.length === 0 && words.length === 0 ? (
            <EmptyState icon="artifacts" title="No artifacts of your own yet.">
              An agent’s manifest can import artifacts (“import: artifacts”), and an agent with the permission
              can write them. The built-in ones are below.
            </EmptyState>
          ) : null}
          {found.length === 0 ? <EmptyState icon="filter" title="No artifact matches." /> : null}
          {own.length === 0 ? null : <ArtifactList title="Artifacts" artifacts={own} />}
          {builtIn.length === 0 ? null : <ArtifactList title="Built in" artifacts={builtIn} />}
          {list.more ? (
            <Button busy={list.reading} className="self-start" onClick={list.loadMore}>
              Show more
            </Button>
          ) : null}
        </>
      )}
    </Page>
  );
}

interface ArtifactListProps {
  readonly title: string;
  readonly artifacts: readonly ArtifactInfo[];
}

const ArtifactList = ({ title, artifacts }: ArtifactListProps) => (
  <Panel title={title} bodyClassName="">
    <ul aria-label={title} className="divide-y divide-line">
      {artifacts.map((artifact) => (
        <li
          key={artifact.name}
          className="relative flex flex-wrap items-start gap-x-6 gap-y-1 px-4 py-3 hover:bg-hover has-[a:focus-visible]:bg-hover"
        >
          <div className="min-w-0 flex-1 basis-72">
            <Link
              href={artifactPath(artifact.name)}
              className="font-semibold break-words -outline-offset-1 after:absolute after:inset-0"
            >
              {artifact.name}
            </Link>
            <p className="text-ink-soft">{artifact.description ?? 'No description.'}</p>
            <p className="font-mono text-small break-words text-ink-faint">
              {artifact.methods.map((method) => `${method}()`).join('  ')}
            </p>
          </div>
          <p className="text-small text-ink-faint">
            {isBuiltIn(artifact) ? null : (
              <>
                version {artifact.version}, by {authorWords(artifact.author)},{' '}
                <RelativeTime at={artifact.at} />
              </>
            )}
          </p>
        </li>
      ))}
    </ul>
  </Panel>
);
