import { useEffect, useState } from 'react';
import { cx } from '../../ui/class-names.ts';
import { Tabs } from '../../ui/tabs.tsx';
import { WaitingReviews } from '../reviews/waiting-reviews.tsx';
import { RunFigures } from './run-figures.tsx';
import { RunGraph } from './run-graph.tsx';
import { RunMoment } from './run-moment.tsx';
import { RunNotices } from './run-notices.tsx';
import { RunPanel, type RunPanelId, useRunTabs } from './run-panels.tsx';
import { useRunView } from './run-view.ts';
import { RunWhy } from './run-why.tsx';

/** All of the page below its heading: the graph, and what there is to know, side by side where there is room. */
export function RunBody({ isWide }: { readonly isWide: boolean }) {
  const { id, selected } = useRunView();
  const [tab, setTab] = useState<RunPanelId>(selected === undefined ? 'steps' : 'event');
  const [chosen, setChosen] = useState<string>();
  const tabs = useRunTabs();
  useEffect(() => {
    if (selected !== undefined) setTab('event');
  }, [selected]);
  const active = tabs.some(({ id }) => id === tab) ? tab : 'steps';
  return (
    <>
      <RunFigures />
      <RunWhy />
      <RunNotices />
      <WaitingReviews stream={id} />
      <RunMoment />
      <div className={cx('gap-3', isWide ? 'grid min-h-0 flex-1 grid-cols-2' : 'flex flex-col')}>
        <RunGraph
          chosen={chosen}
          onChoose={(name, isState) => {
            setChosen(name === chosen ? undefined : name);
            setTab(isState ? 'states' : 'steps');
          }}
          className={isWide ? 'min-h-0' : 'h-88'}
        />
        <section
          aria-label="Details"
          className={cx('flex flex-col rounded-lg border border-line bg-surface', isWide && 'min-h-0')}
        >
          <Tabs
            label="Details"
            tabs={tabs}
            active={active}
            onChange={setTab}
            className="min-h-0 flex-1"
            panelClassName={cx(isWide && active !== 'events' && 'overflow-y-auto')}
          >
            <RunPanel id={active} chosen={chosen} onChoose={setChosen} />
          </Tabs>
        </section>
      </div>
    </>
  );
}
