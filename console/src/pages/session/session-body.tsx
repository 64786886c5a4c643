import { memo, useDeferredValue, useEffect, useState } from 'react';
import { cx } from '../../ui/class-names.ts';
import { Tabs } from '../../ui/tabs.tsx';
import { useMedia } from '../../ui/use-media.ts';
import { type PanelId, PanelOf, type TabId, usePanelTabs } from './session-panels.tsx';
import { SessionViewContext, useSessionView } from './session-view.ts';
import { StreamPanel } from './stream/stream-panel.tsx';
import { WaterfallPanel } from './waterfall/waterfall-panel.tsx';

/** Conversation, waterfall and panels, side by side if there is room, otherwise as tabs. */
export function SessionBody() {
  const view = useSessionView();
  // The slider and the waterfall update at once. What takes longer to draw follows when there is time.
  const calm = useDeferredValue(view);
  const isWide = useMedia('(min-width: 64rem)');
  const [tab, setTab] = useState<TabId>('stream');
  useEffect(() => {
    if (view.selected !== undefined) setTab('event');
  }, [view.selected]);
  if (!isWide) return <SessionTabs active={tab} onChange={setTab} />;
  return (
    <div className="grid min-h-0 flex-1 grid-cols-[minmax(0,1fr)_minmax(22rem,28rem)] gap-3">
      <div className="flex min-h-0 min-w-0 flex-col gap-3">
        <WaterfallPanel className="min-h-0 flex-[5_1_0]" />
        <SessionViewContext value={calm}>
          <SessionDetails
            active={tab === 'stream' || tab === 'waterfall' ? 'state' : tab}
            onChange={setTab}
          />
        </SessionViewContext>
      </div>
      <SessionViewContext value={calm}>
        <StreamPanel className="min-h-0" />
      </SessionViewContext>
    </div>
  );
}

interface SessionDetailsProps {
  readonly active: PanelId;
  readonly onChange: (id: PanelId) => void;
}

/** The panels next to conversation and waterfall, one at a time. */
const SessionDetails = memo(function SessionDetails({ active, onChange }: SessionDetailsProps) {
  return (
    <section
      aria-label="Details"
      className="flex min-h-0 flex-[3_1_0] flex-col rounded-lg border border-line bg-surface"
    >
      <Tabs
        label="Details"
        tabs={usePanelTabs()}
        active={active}
        onChange={onChange}
        className="min-h-0 flex-1"
        panelClassName={cx(active !== 'events' && 'overflow-y-auto')}
      >
        <PanelOf id={active} />
      </Tabs>
    </section>
  );
});

interface SessionTabsProps {
  readonly active: TabId;
  readonly onChange: (id: TabId) => void;
}

/** The page on a narrow screen. */
function SessionTabs({ active, onChange }: SessionTabsProps) {
  const panels = usePanelTabs();
  const tabs: readonly { readonly id: TabId; readonly label: string; readonly count?: number }[] = [
    { id: 'stream', label: 'Conversation' },
    { id: 'waterfall', label: 'Waterfall' },
    ...panels,
  ];
  const isWhole = active === 'stream' || active === 'waterfall' || active === 'events';
  return (
    <Tabs
      label="Session"
      tabs={tabs}
      active={active}
      onChange={onChange}
      className="min-h-[26rem] flex-1"
      panelClassName={cx('flex flex-col pt-2', !isWhole && 'overflow-y-auto')}
    >
      {active === 'stream' ? <StreamPanel className="min-h-0 flex-1" /> : null}
      {active === 'waterfall' ? <WaterfallPanel className="min-h-0 flex-1" /> : null}
      {active === 'stream' || active === 'waterfall' ? null : <PanelOf id={active} />}
    </Tabs>
  );
}
