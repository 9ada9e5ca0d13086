package io.kagami.broker.net;

/** Why an address could not be listened on, in words: the native transport tells a number only. */
public final class BindFailure {
    private BindFailure() {}

    public static String text(Throwable cause) {
        String told = String.valueOf(cause.getMessage());
        if (told.contains("-98") || told.contains("Address already in use")) {
            return "the port is in use by another process; stop that one, or choose another port";
        }
        if (told.contains("-99") || told.contains("Cannot assign requested address")) {
            return "this machine has no such address";
        }
        if (told.contains("-13") || told.contains("Permission denied")) {
            return "this user may not listen on that port";
        }
        return told;
    }
}
