/** How commands say what their arguments may be. */
export const SESSION_HELP = 'SESSION is an id, its first or last characters, or "last".';
export const STREAM_HELP = `${SESSION_HELP}
The id of a workflow run works, too.`;
export const RUN_HELP = 'RUN is the id of a workflow run, its first or last characters, or "last".';
export const SEQ_HELP = `${SESSION_HELP} SEQ is the number
at the start of a line of "telltale logs".`;
