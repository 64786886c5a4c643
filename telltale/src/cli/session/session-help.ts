/** How commands say what their arguments may be. */
export const SESSION_HELP = 'SESSION is an id, the beginning or the end of one, or "last".';
export const STREAM_HELP = `${SESSION_HELP}
That of a workflow run will do, too.`;
export const RUN_HELP = 'RUN is the id of a workflow run, the beginning or the end of one, or "last".';
export const SEQ_HELP = `${SESSION_HELP} SEQ is the number
in front of a line of "telltale logs".`;
