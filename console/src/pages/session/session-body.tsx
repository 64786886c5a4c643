import { useEffect, useState } from 'react';
import { cx } from '../../ui/class-names.ts';
import { Tabs } from '../../ui/tabs.tsx';
import { SteerBox } from './header/steer-box.tsx';
import { type PanelId, PanelOf, usePanelTabs } from './session-panels.tsx';
import { useSessionView } from './session-view.ts';
import { StreamPanel } from './stream/stream-panel.tsx';
import { useMedia } from './use-media.ts';
import { WaterfallPanel } from './waterfall/waterfall-panel.tsx';

type TabId = PanelId | 'stream' | 'waterfall';

/** Side by side where there is room; else one thing at a time. */
export function SessionBody() {
  const { model, selected } = useSessionView();
  const isWide = useMedia('(min-width: 64rem)');
  const [tab, setTab] = useState<TabId>('stream');
  const panels = usePanelTabs();
  const head = model.stateAt(model.events.length);
  const steer = <SteerBox state={head} />;
  useEffect(() => {
    if (selected !== undefined) setTab('event');
  }, [selected]);
  if (isWide) {
    const active = tab === 'stream' || tab === 'waterfall' ? 'state' : tab;
    return (
      <div className="grid min-h-0 flex-1 grid-cols-[minmax(0,1fr)_minmax(22rem,28rem)] gap-3">
        <div className="flex min-h-0 min-w-0 flex-col gap-3">
          <WaterfallPanel className="min-h-0 flex-[5_1_0]" />
          <section
            aria-label="Details"
            className="flex min-h-0 flex-[3_1_0] flex-col rounded-lg border border-line bg-surface"
          >
            <Tabs
              label="Details"
              tabs={panels}
              active={active}
              onChange={setTab}
              className="min-h-0 flex-1"
              panelClassName={cx(active !== 'events' && 'overflow-y-auto')}
            >
              <PanelOf id={active} />
            </Tabs>
          </section>
        </div>
        <StreamPanel footer={steer} className="min-h-0" />
      </div>
    );
  }
  const tabs: readonly { readonly id: TabId; readonly label: string; readonly count?: number }[] = [
    { id: 'stream', label: 'Conversation' },
    { id: 'waterfall', label: 'Waterfall' },
    ...panels,
  ];
  return (
    <Tabs
      label="Session"
      tabs={tabs}
      active={tab}
      onChange={setTab}
      className="min-h-[26rem] flex-1"
      panelClassName={cx(
        'flex flex-col pt-2',
        tab !== 'events' && tab !== 'stream' && tab !== 'waterfall' && 'overflow-y-auto',
      )}
    >
      {tab === 'stream' ? <StreamPanel footer={steer} className="min-h-0 flex-1" /> : null}
      {tab === 'waterfall' ? <WaterfallPanel className="min-h-0 flex-1" /> : null}
      {tab !== 'stream' && tab !== 'waterfall' ? <PanelOf id={tab} /> : null}
    </Tabs>
  );
}
