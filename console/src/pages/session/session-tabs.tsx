import { cx } from '../../ui/class-names.ts';
import { Tabs } from '../../ui/tabs.tsx';
import { PanelOf, type TabId, usePanelTabs } from './session-panels.tsx';
import { StreamPanel } from './stream/stream-panel.tsx';
import { WaterfallPanel } from './waterfall/waterfall-panel.tsx';

export interface SessionTabsProps {
  readonly active: TabId;
  readonly onChange: (id: TabId) => void;
}

/** The page on a narrow screen. */
export function SessionTabs({ active, onChange }: SessionTabsProps) {
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
