/** How commands say what their arguments may be. */
export const SESSION_HELP = 'SESSION is an id, the beginning or the end of one, or "last".';
export const SEQ_HELP = `${SESSION_HELP} SEQ is the number
in front of a line of "telltale logs".`;
