import { useState } from 'react';
import { Link } from 'wouter';
import { useBlocked } from '../../data/use-blocked.ts';
import { useLoaded } from '../../data/use-loaded.ts';
import { Page } from '../../shell/page.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { ArtifactChanges } from './artifact-changes.tsx';
import { ArtifactTest } from './artifact-test.tsx';
import { isBuiltIn } from './author-words.ts';
import { NumberedSource } from './numbered-source.tsx';
import { RollbackDialog } from './rollback-dialog.tsx';
import { VersionList } from './version-list.tsx';
import { WriteVersion } from './write-version.tsx';

type View = 'source' | 'changes' | 'test' | 'write';

/** One artifact: its versions, what each says and changed, a trial of it, and ways to change it. */
export function ArtifactPage({ name }: { readonly name: string }) {
  const versions = useLoaded(`artifact ${name}`, (client, signal) => client.artifact(name, { signal }));
  const [chosen, setChosen] = useState<number>();
  const [view, setView] = useState<View>('source');
  const [isAsking, setAsking] = useState(false);
  const admin = useBlocked('admin');
  const crumbs = (
    <Link href="/artifacts" className="hover:underline">
      Artifacts
    </Link>
  );
  const items = versions.kind === 'ready' ? versions.value.items : [];
  const [newest] = items;
  const shown = items.find(({ version }) => version === chosen) ?? newest;
  if (newest === undefined || shown === undefined)
    return (
      <Page title={name} crumbs={crumbs}>
        {versions.kind === 'failed' ? (
          <ErrorState
            title="The artifact could not be read."
            error={versions.error}
            onRetry={versions.reload}
            list={{ href: '/artifacts', label: 'See all artifacts' }}
          />
        ) : (
          <Loading label="Reading the artifact" rows={8} />
        )}
      </Page>
    );
  const builtIn = isBuiltIn(newest);
  const fixed = builtIn ? 'Built-in artifacts cannot be changed.' : admin;
  const changed = (version: number) => {
    setChosen(version);
    setView('source');
    versions.reload();
  };
  return (
    <Page
      title={name}
      crumbs={crumbs}
      actions={
        <>
          {shown === newest ? null : (
            <Button icon="history" blocked={fixed} onClick={() => setAsking(true)}>
              Roll back to {shown.version}
            </Button>
          )}
          <Button icon="plus" blocked={fixed} onClick={() => setView('write')}>
            New version
          </Button>
        </>
      }
    >
      <p className="max-w-3xl text-lead text-ink-soft">{shown.description ?? 'No description.'}</p>
      <div className="grid items-start gap-4 lg:grid-cols-[18rem_minmax(0,1fr)]">
        <VersionList versions={items} chosen={shown.version} onChoose={setChosen} />
        <section
          aria-label={`Version ${shown.version}`}
          className="min-w-0 rounded-lg border border-line bg-surface"
        >
          <Tabs<View>
            label="Views of the version"
            tabs={[
              { id: 'source', label: `Source of ${shown.version}` },
              { id: 'changes', label: 'Changes' },
              { id: 'test', label: 'Try it' },
              ...(view === 'write' ? [{ id: 'write' as const, label: 'New version' }] : []),
            ]}
            active={view}
            onChange={setView}
          >
            {view === 'source' ? <NumberedSource text={shown.source} /> : null}
            {view === 'changes' ? (
              <ArtifactChanges key={shown.version} versions={items} shown={shown} />
            ) : null}
            {view === 'test' ? <ArtifactTest key={shown.version} artifact={shown} /> : null}
            {view === 'write' ? <WriteVersion newest={newest} onWritten={changed} /> : null}
          </Tabs>
        </section>
      </div>
      <RollbackDialog
        artifact={shown}
        newest={newest.version}
        open={isAsking}
        onClose={() => setAsking(false)}
        onDone={changed}
      />
    </Page>
  );
}
