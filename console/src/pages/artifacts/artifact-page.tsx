import { useState } from 'react';
import { Link } from 'wouter';
import type { ArtifactInfo } from '../../../../telltale/src/client/api.ts';
import { useBlocked } from '../../data/use-blocked.ts';
import { useCall } from '../../data/use-call.ts';
import { useData } from '../../data/use-data.ts';
import { useLoaded } from '../../data/use-loaded.ts';
import { Page } from '../../shell/page.tsx';
import { Button } from '../../ui/button.tsx';
import { cx } from '../../ui/class-names.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { InvisibleWarning } from '../../ui/invisible-warning.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Panel } from '../../ui/panel.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { useSourceLines } from '../../ui/source-code.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { ArtifactChanges } from './artifact-changes.tsx';
import { ArtifactTest } from './artifact-test.tsx';
import { authorWords, isBuiltIn } from './author-words.ts';
import { WriteVersion } from './write-version.tsx';

type View = 'source' | 'changes' | 'test' | 'write';

/** One artifact: its versions, their contents and changes, a test, and ways to change it. */
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

/** How many lines are shown at first. */
const FIRST = 500;
const STEP = 2_000;

/** Source text with line numbers. It renders text nodes only. */
function NumberedSource({ text }: { readonly text: string }) {
  const [shown, setShown] = useState(FIRST);
  const lines = useSourceLines(text.replace(/\n$/, ''), 'javascript');
  return (
    <section
      aria-label="Source"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what is wider than the window is scrolled to by keyboard, too.
      tabIndex={0}
      className="overflow-x-auto py-2 font-mono text-small -outline-offset-2"
    >
      <InvisibleWarning of={text} />
      {lines.slice(0, shown).map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines are known by their place.
        <div key={at} className="flex min-w-max hover:bg-hover">
          <span className="w-12 shrink-0 pr-3 text-right text-ink-faint tabular-nums select-none">
            {at + 1}
          </span>
          <code className="pr-4 whitespace-pre">{line === '' ? ' ' : line}</code>
        </div>
      ))}
      {lines.length > shown ? (
        <Button size="small" kind="quiet" className="m-2" onClick={() => setShown(shown + STEP)}>
          {(lines.length - shown).toLocaleString('en')} more lines
        </Button>
      ) : null}
    </section>
  );
}

interface RollbackDialogProps {
  readonly artifact: ArtifactInfo;
  readonly newest: number;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onDone: (version: number) => void;
}

/** A rollback changes what every run decides from then on, so the person must confirm. */
function RollbackDialog({ artifact, newest, open, onClose, onDone }: RollbackDialogProps) {
  const { toasts } = useData();
  const { name, version } = artifact;
  const back = useCall((client, options, to: number) => client.rollbackArtifact(name, to, options));
  const onBack = async () => {
    const made = await back.run(version);
    if (made === undefined) return;
    toasts.say('done', `Version ${made.version} of ${name} has the source of version ${version}.`);
    onClose();
    onDone(made.version);
  };
  return (
    <Dialog
      title={`Roll back to version ${version}?`}
      open={open}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" icon="history" busy={back.busy} onClick={() => void onBack()}>
            Roll back
          </Button>
        </>
      }
    >
      <p className="text-ink-soft">
        Version {newest + 1} is created with the source of version {version}. It applies at once, also to runs
        in progress. Version {newest} stays in the list.
      </p>
      {back.error === undefined ? null : (
        <div className="mt-3">
          <ErrorState title="The artifact was not rolled back." error={back.error} />
        </div>
      )}
    </Dialog>
  );
}

interface VersionListProps {
  /** Newest first. */
  readonly versions: readonly ArtifactInfo[];
  readonly chosen: number;
  readonly onChoose: (version: number) => void;
}

/** All versions: who wrote each, when, and from which version. */
const VersionList = ({ versions, chosen, onChoose }: VersionListProps) => (
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
              {at === 0 ? <span className="text-small text-done">in use</span> : null}
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
