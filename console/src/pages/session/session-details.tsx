import { memo } from 'react';
import { cx } from '../../ui/class-names.ts';
import { Tabs } from '../../ui/tabs.tsx';
import { type PanelId, PanelOf, usePanelTabs } from './session-panels.tsx';

export interface SessionDetailsProps {
  readonly active: PanelId;
  readonly onChange: (id: PanelId) => void;
}

/** What can be looked at beside conversation and waterfall, one at a time. */
export const SessionDetails = memo(function SessionDetails({ active, onChange }: SessionDetailsProps) {
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
