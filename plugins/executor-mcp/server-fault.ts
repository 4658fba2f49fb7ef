/** Why a server can't be used, in one line, with what to do about it. */
export class ServerFault extends Error {}
