import { CancelDialog } from '../log/cancel-dialog.tsx';
import { useRunView } from './run-view.ts';

export const CancelRunDialog = (props: { readonly open: boolean; readonly onClose: () => void }) => (
  <CancelDialog kind="run" id={useRunView().id} {...props}>
    Steps that run are aborted. Those that were done and say how to be undone are undone, the last first; all
    of it stays on the log.
  </CancelDialog>
);
