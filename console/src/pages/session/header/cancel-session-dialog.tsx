import { CancelDialog } from '../../log/cancel-dialog.tsx';
import { useSessionView } from '../session-view.ts';

export const CancelSessionDialog = (props: { readonly open: boolean; readonly onClose: () => void }) => (
  <CancelDialog kind="session" id={useSessionView().id} {...props}>
    Actions that run are aborted, and so are sub-agents. What was done stays done and stays on the log; a
    cancelled session can be resumed.
  </CancelDialog>
);
