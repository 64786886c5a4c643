import { SessionFigures } from './header/session-figures.tsx';
import { WaitingReviews } from './header/waiting-reviews.tsx';
import { LogNotice } from './log-notice.tsx';
import { SessionBody } from './session-body.tsx';
import { TimeBar } from './time/time-bar.tsx';
import { TourGuide } from './tour-guide.tsx';

/** All of the page below its heading, at the moment that is shown. */
export const SessionContent = () => (
  <>
    <SessionFigures />
    <TourGuide />
    <LogNotice />
    <WaitingReviews />
    <TimeBar />
    <SessionBody />
  </>
);
