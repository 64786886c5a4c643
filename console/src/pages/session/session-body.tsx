import { useDeferredValue, useEffect, useState } from 'react';
import { useMedia } from '../../ui/use-media.ts';
import { SessionDetails } from './session-details.tsx';
import type { TabId } from './session-panels.tsx';
import { SessionTabs } from './session-tabs.tsx';
import { SessionViewContext, useSessionView } from './session-view.ts';
import { StreamPanel } from './stream/stream-panel.tsx';
import { WaterfallPanel } from './waterfall/waterfall-panel.tsx';

/** Side by side where there is room; else one thing at a time. */
export function SessionBody() {
  const view = useSessionView();
  // The slider and the waterfall go along at once; what takes longer to draw follows when there is time.
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
