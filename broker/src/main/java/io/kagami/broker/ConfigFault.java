package io.kagami.broker;

/** The configuration cannot be used; the message names the file, the line and the key where there is one. */
public class ConfigFault extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public ConfigFault(String message) {
        super(message);
    }

    public ConfigFault(String message, Throwable cause) {
        super(message, cause);
    }
}
