import { SessionFigures } from './header/session-figures.tsx';
import { WaitingReviews } from './header/waiting-reviews.tsx';
import { LogNotice } from './log-notice.tsx';
import { SessionBody } from './session-body.tsx';
import { useSessionView } from './session-view.ts';
import { TimeBar } from './time/time-bar.tsx';

/** All of the page below its heading, at the moment that is shown. */
export function SessionContent() {
  const { model, moment } = useSessionView();
  return (
    <>
      <SessionFigures state={model.stateAt(moment.seq)} />
      <LogNotice />
      <WaitingReviews />
      <TimeBar />
      <SessionBody />
    </>
  );
}
